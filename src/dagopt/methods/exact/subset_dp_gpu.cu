// The kernels of subset_dp_gpu.py, which sets REAL (float or double), LOW and CHUNK.
// A set is the bits of a 64-bit integer; see kernels/subset_lattice.py for the recursion.

typedef REAL real;
typedef unsigned long long mask_t;
#define NEVER ((real)__longlong_as_double(0xfff0000000000000ll))  // minus infinity

__device__ __forceinline__ mask_t with_gap(mask_t x, int b) {
    mask_t low = (1ull << b) - 1;
    return (x & low) | ((x & ~low) << 1);
}

__device__ __forceinline__ mask_t without(mask_t x, int b) {
    mask_t low = (1ull << b) - 1;
    return (x & low) | ((x >> 1) & ~low);
}

// What is left of the lowest 16 variables once the pattern of the higher ones is eliminated.
extern "C" __global__ void top_of_tree(const double* matrix, const double* log_scale, int n, double* left,
                                       double* value, double floor_) {
    extern __shared__ double a[];
    const int tid = threadIdx.x, width = blockDim.x;
    const mask_t pattern = blockIdx.x;
    for (int k = tid; k < n * n; k += width) a[k] = matrix[k];
    double total = 0.0;
    __syncthreads();
    for (int b = n - 1; b >= 16; --b) {
        if (!((pattern >> (b - 16)) & 1)) continue;
        const double pivot = fmax(a[b * n + b], floor_);
        const double scale = a[b * n + b] > floor_ ? 1.0 / pivot : 0.0;
        total += log(pivot) + log_scale[b];
        __syncthreads();
        for (int k = tid; k < b * b; k += width) {
            const int r = k / b, c = k % b;
            if (c <= r) a[r * n + c] -= a[b * n + r] * scale * a[b * n + c];
        }
        __syncthreads();
    }
    for (int k = tid; k < 256; k += width) {
        const int r = k / 16, c = k % 16;
        left[blockIdx.x * 256ull + k] = c <= r ? a[r * n + c] : 0.0;
    }
    if (tid == 0) value[blockIdx.x] = total;
}

// The other half of the tree: a CUDA block has one pattern of the bits above 16, a thread one of bits 8 to 15.
extern "C" __global__ void potentials(const double* left, const double* value, const double* log_scale,
                                      const double* constant, const double* power, const double* single, int n,
                                      real* out, double floor_) {
    __shared__ double a[256];
    const int tid = threadIdx.x;
    a[tid] = left[blockIdx.x * 256ull + tid];
    __syncthreads();
    double m[136];
    for (int r = 0, at = 0; r < 16; ++r)
        for (int c = 0; c <= r; ++c, ++at) m[at] = a[r * 16 + c];
    double base = value[blockIdx.x];
    for (int b = 15; b >= 8; --b) {
        if (!((tid >> (b - 8)) & 1)) continue;
        const double* row = m + b * (b + 1) / 2;
        const double pivot = fmax(row[b], floor_);
        const double scale = row[b] > floor_ ? 1.0 / pivot : 0.0;
        base += log(pivot) + log_scale[b];
        for (int r = 0, at = 0; r < b; ++r)
            for (int c = 0; c <= r; ++c, ++at) m[at] -= row[r] * scale * row[c];
    }
    const mask_t high = ((mask_t)blockIdx.x << 16) | ((mask_t)tid << 8);
    double singles = 0.0;
    for (int b = 8; b < n; ++b) if ((high >> b) & 1) singles += single[b];
    const int more = __popcll(high);
    double work[8][36];   // work[b]: what is left of the variables below b
    const double* source[9];
    double total[9];
    for (int b = 0; b <= 8; ++b) { source[b] = m; total[b] = base; }
    for (int x = 0; x < 256; ++x) {
        if (x) {
            const int b = __ffs(x) - 1;
            const double* above = source[b + 1];
            const double* row = above + b * (b + 1) / 2;
            const double pivot = fmax(row[b], floor_);
            const double scale = row[b] > floor_ ? 1.0 / pivot : 0.0;
            for (int r = 0, at = 0; r < b; ++r)
                for (int c = 0; c <= r; ++c, ++at) work[b][at] = above[at] - row[r] * scale * row[c];
            const double sum = total[b + 1] + log(pivot) + log_scale[b];
            for (int k = 0; k <= b; ++k) { source[k] = work[b]; total[k] = sum; }
        }
        double s = singles;
        for (int b = 0; b < 8; ++b) if ((x >> b) & 1) s += single[b];
        const int size = more + __popc(x);
        out[high | x] = (real)(constant[size] - 0.5 * power[size] * total[0] - s);
    }
}

// Best parents of one node in one block: fill 2^LOW neighbours over all subsets of the block, and close them.
extern "C" __global__ void fill(const real* table, int node, int low_bits, mask_t block, mask_t must, mask_t may,
                                int most, real* out) {
    extern __shared__ unsigned char raw[];
    real* v = (real*)raw;
    const int tid = threadIdx.x, width = blockDim.x;
    const mask_t begin = (mask_t)blockIdx.x << LOW;
    const mask_t bit = 1ull << node;
    const bool inside = node < low_bits;
    for (int k = tid; k < (1 << LOW); k += width) {
        const mask_t place = inside ? with_gap(begin + k, node) : begin + k;
        real best = NEVER;
        mask_t high = block;
        while (true) {
            const mask_t set = high | place;
            if ((set & must) == must && !(set & ~may) && __popcll(set) <= most) {
                const real value = table[set | bit] - table[set];
                best = value > best ? value : best;
            }
            if (!high) break;
            high = (high - 1) & block;
        }
        v[k] = best;
    }
    for (int b = 0; b < LOW; ++b) {
        __syncthreads();
        for (int k = tid; k < (1 << (LOW - 1)); k += width) {
            const int at = (int)with_gap(k, b);
            const real small = v[at], large = v[at | (1 << b)];
            v[at | (1 << b)] = small > large ? small : large;
        }
    }
    __syncthreads();
    for (int k = tid; k < (1 << LOW); k += width) out[begin + k] = v[k];
}

// Close a table over `count` bits from `first`: 16 neighbours of all 2^count rows at a time in shared memory.
extern "C" __global__ void close_high(real* out, int first, int count) {
    extern __shared__ unsigned char raw[];
    real* v = (real*)raw;
    const int tid = threadIdx.x, width = blockDim.x;
    const int rows = 1 << count;
    const mask_t per_group = (1ull << first) >> 4;
    const mask_t stretch = blockIdx.x;
    const mask_t base = ((stretch / per_group) << (first + count)) + (stretch % per_group) * 16;
    for (int k = tid; k < rows * 16; k += width) v[k] = out[base + ((mask_t)(k >> 4) << first) + (k & 15)];
    for (int b = 0; b < count; ++b) {
        __syncthreads();
        for (int k = tid; k < rows * 8; k += width) {
            const int at = ((int)with_gap(k >> 4, b) << 4) | (k & 15);
            const int to = at | (1 << (b + 4));
            const real small = v[at], large = v[to];
            v[to] = small > large ? small : large;
        }
    }
    __syncthreads();
    for (int k = tid; k < rows * 16; k += width) out[base + ((mask_t)(k >> 4) << first) + (k & 15)] = v[k];
}

// Finish the chunks of one layer of a block: high sinks stream, the sinks among the chunk's bits go layer by layer.
extern "C" __global__ void sinks(const real* best, int low_bits, mask_t block, real* opt, const unsigned* chunks,
                                 const unsigned short* order, const int* layers) {
    extern __shared__ unsigned char raw[];
    real* here = (real*)raw;                    // 2^CHUNK
    real* near = here + (1 << CHUNK);           // CHUNK tables of 2^(CHUNK - 1)
    const int tid = threadIdx.x, width = blockDim.x;
    const mask_t half = 1ull << (low_bits - 1);
    const mask_t begin = (mask_t)chunks[blockIdx.x] << CHUNK;
    for (int s = tid; s < (1 << CHUNK); s += width) {
        real value = opt[block + begin + s];
        for (int i = CHUNK; i < low_bits; ++i) {
            if (!((begin >> i) & 1)) continue;
            const mask_t less = begin - (1ull << i);
            const real other = opt[block + less + s] + best[half * i + without(less, i) + s];
            value = other > value ? other : value;
        }
        here[s] = value;
    }
    for (int k = tid; k < CHUNK << (CHUNK - 1); k += width) {
        const int i = k >> (CHUNK - 1), x = k & ((1 << (CHUNK - 1)) - 1);
        near[k] = best[half * i + (begin >> 1) + x];
    }
    for (int p = 1; p <= CHUNK; ++p) {
        __syncthreads();
        for (int k = layers[p] + tid; k < layers[p + 1]; k += width) {
            const int s = order[k];
            real value = here[s];
            for (int rest = s; rest; rest &= rest - 1) {
                const int i = __ffs(rest) - 1, less = s ^ (1 << i);
                const real other = here[less] + near[(i << (CHUNK - 1)) + (int)without(less, i)];
                value = other > value ? other : value;
            }
            here[s] = value;
        }
    }
    __syncthreads();
    for (int s = tid; s < (1 << CHUNK); s += width) opt[block + begin + s] = here[s];
}

// Make a high node the sink of every set of a block.
extern "C" __global__ void push(const real* scores, mask_t block, mask_t bit, real* opt, mask_t size) {
    for (mask_t x = blockIdx.x * (mask_t)blockDim.x + threadIdx.x; x < size; x += (mask_t)gridDim.x * blockDim.x) {
        const real value = opt[block + x] + scores[x];
        if (value > opt[block + bit + x]) opt[block + bit + x] = value;
    }
}

// The largest size of a number, by CUDA block.
extern "C" __global__ void largest(const real* table, mask_t count, real* out) {
    __shared__ real values[256];
    real best = 0;
    for (mask_t k = blockIdx.x * 256ull + threadIdx.x; k < count; k += (mask_t)gridDim.x * 256) {
        const real value = table[k] < 0 ? -table[k] : table[k];
        best = value > best ? value : best;
    }
    values[threadIdx.x] = best;
    for (int step = 128; step; step >>= 1) {
        __syncthreads();
        if (threadIdx.x < step && values[threadIdx.x + step] > values[threadIdx.x])
            values[threadIdx.x] = values[threadIdx.x + step];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

// The best parent set of a node inside `allowed`, by CUDA block: the largest score, then the smallest set.
extern "C" __global__ void best_set(const real* table, int node, mask_t allowed, mask_t must, int most, mask_t count,
                                    real* value_out, mask_t* set_out) {
    __shared__ real values[256];
    __shared__ mask_t sets[256];
    __shared__ mask_t spread[4][512];   // the bits of k, nine at a time, spread over the allowed places
    for (int part = 0; part < 4; ++part) {
        mask_t places = allowed;
        for (int b = 0; b < 9 * part; ++b) places &= places - 1;
        for (int k = threadIdx.x; k < 512; k += 256) {
            mask_t set = 0, rest = places;
            for (int bits = k; bits; bits >>= 1, rest &= rest - 1) if (bits & 1) set |= rest & (~rest + 1);
            spread[part][k] = set;
        }
    }
    __syncthreads();
    const mask_t bit = 1ull << node;
    real best = NEVER;
    mask_t chosen = ~0ull;
    for (mask_t k = blockIdx.x * 256ull + threadIdx.x; k < count; k += (mask_t)gridDim.x * 256) {
        const mask_t set =
            spread[0][k & 511] | spread[1][(k >> 9) & 511] | spread[2][(k >> 18) & 511] | spread[3][k >> 27];
        if ((set & must) != must || __popcll(set) > most) continue;
        const real value = table[set | bit] - table[set];
        if (value > best || (value == best && set < chosen)) { best = value; chosen = set; }
    }
    values[threadIdx.x] = best;
    sets[threadIdx.x] = chosen;
    for (int step = 128; step; step >>= 1) {
        __syncthreads();
        if (threadIdx.x < step) {
            const int other = threadIdx.x + step;
            if (values[other] > values[threadIdx.x] ||
                (values[other] == values[threadIdx.x] && sets[other] < sets[threadIdx.x])) {
                values[threadIdx.x] = values[other];
                sets[threadIdx.x] = sets[other];
            }
        }
    }
    if (threadIdx.x == 0) { value_out[blockIdx.x] = values[0]; set_out[blockIdx.x] = sets[0]; }
}
