#!/bin/bash
# A batch over 4 nodes with Ray: a cluster that lives as long as the job, with a token of its own.
#
#SBATCH --job-name=harness-ray
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --gpus-per-node=4
#SBATCH --time=08:00:00
set -euo pipefail

GENERATIONS=${GENERATIONS:-generations}
RUN=${RUN:-runs/on-ray}
PORT=$((20000 + SLURM_JOB_ID % 20000))
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
ADDRESS=$(srun --nodes=1 --ntasks=1 --nodelist="$HEAD" hostname --ip-address | cut -d' ' -f1):$PORT

export RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$(python -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN
export RAY_memory_monitor_refresh_ms=0 # candidates have limits of their own, and Ray would end the actor
export XDG_CACHE_HOME=${SLURM_TMPDIR:-/tmp}/harness-cache

# --block: the node leaves the cluster when srun ends, and srun ends with this job. Nobody calls `ray stop`.
srun --nodes=1 --ntasks=1 --nodelist="$HEAD" \
    ray start --head --node-ip-address="${ADDRESS%:*}" --port="$PORT" --include-dashboard=false --block &
sleep 15
if [ "$SLURM_NNODES" -gt 1 ]; then
    srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$HEAD" \
        ray start --address="$ADDRESS" --block &
    sleep 15
fi

# The driver runs on the head's node, which is where this script runs.
harness batch "$GENERATIONS" --run "$RUN" --ray "$ADDRESS" --device cuda
