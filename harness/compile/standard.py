"""Standard headers by the names that they bring, for sources that rely on torch's headers to include them.

Only what torch/types.h of every supported version includes itself is listed: a source that would not compile against
the stock headers must not compile against the slim ones.
"""

import re
from collections.abc import Iterable

BY_HEADER = {
    "algorithm": "sort stable_sort min max minmax clamp fill fill_n copy copy_n reverse transform all_of any_of "
    "none_of find find_if count count_if max_element min_element for_each generate replace remove remove_if unique "
    "rotate lower_bound upper_bound binary_search nth_element partial_sort swap_ranges equal lexicographical_compare",
    "array": "array",
    "atomic": "atomic atomic_flag memory_order memory_order_relaxed",
    "bitset": "bitset",
    "cassert": "assert",
    "chrono": "chrono",
    "climits": "INT_MAX INT_MIN LONG_MAX UINT_MAX CHAR_BIT LLONG_MAX",
    "cmath": "exp expf log logf sqrt sqrtf pow powf tanh tanhf sinh cosh sin sinf cos cosf tan erf erff erfc ceil "
    "ceilf floor floorf fabs fabsf fmax fmaxf fmin fminf round roundf isnan isinf isfinite INFINITY NAN M_PI M_SQRT1_2 "
    "M_SQRT2 abs log1p log1pf expm1 expm1f exp2 exp2f log2 log2f log10 rsqrt cbrt hypot fmod trunc rint lround",
    "complex": "complex",
    "cstdio": "printf fprintf snprintf sprintf stderr stdout fflush puts",
    "cstdlib": "malloc free calloc abort exit getenv rand srand atoi",
    "cstring": "memcpy memset memmove strcmp strlen strncmp",
    "deque": "deque",
    "functional": "function bind plus multiplies greater less hash reference_wrapper ref",
    "iomanip": "setprecision setw setfill",
    "iostream": "cout cerr endl cin clog",
    "iterator": "back_inserter distance advance next prev",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr make_unique make_shared weak_ptr",
    "mutex": "mutex lock_guard unique_lock once_flag call_once recursive_mutex scoped_lock",
    "numeric": "accumulate iota inner_product partial_sum reduce gcd",
    "ostream": "ostream",
    "set": "set multiset",
    "sstream": "ostringstream stringstream istringstream",
    "stdexcept": "runtime_error invalid_argument logic_error out_of_range domain_error length_error overflow_error",
    "string": "to_string string stoi stof",
    "thread": "thread this_thread",
    "c10/util/irange.h": "irange",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant visit",
}
_HEADER_OF = {name: header for header, names in BY_HEADER.items() for name in names.split()}
_COMMON = re.compile(r"using\s+namespace\s+std\b")


def standard_headers(identifiers: Iterable[str], text: str) -> list[str]:
    """The headers for the names that occur in a source, sorted."""
    headers = {_HEADER_OF[name] for name in identifiers if name in _HEADER_OF}
    if _COMMON.search(text):
        headers |= {"algorithm", "cmath", "iostream", "limits", "numeric", "functional"}
    return sorted(headers)
