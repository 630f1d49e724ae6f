#!/bin/bash
# A batch over 16 nodes without Ray: one shard a task of the array, each into a run of its own, merged in the end.
#
#   sbatch slurm-array.sh                                     # judge; give it again and it goes on where it stopped
#   sbatch --dependency=afterok:JOBID --wrap='bash slurm-array.sh merge'
#
#SBATCH --job-name=harness
#SBATCH --array=1-16
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --gpus-per-node=4
#SBATCH --time=08:00:00
#SBATCH --requeue
set -euo pipefail

GENERATIONS=${GENERATIONS:-generations}   # on a file system that all nodes see
RUNS=${RUNS:-runs/sharded}                # the same
SHARDS=16                                 # as many as the array has

if [ "${1:-}" = merge ]; then
    exec harness runs merge "$RUNS"/[0-9]* -o "$RUNS/all"
fi

# The cache of builds belongs on a disk of the node: compilers write thousands of small files.
export XDG_CACHE_HOME=${SLURM_TMPDIR:-/tmp}/harness-cache
exec harness batch "$GENERATIONS" --run "$RUNS/$SLURM_ARRAY_TASK_ID" --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" --device cuda
