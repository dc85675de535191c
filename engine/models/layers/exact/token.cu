// One token through a Llama-like stack in bfloat16: what stands between its products, each in one kernel, with every
// rounding and every order of addition of the kernels that torch would launch for it. `token.py` checks that.
typedef unsigned short bf16;
typedef long long int64;

__device__ __forceinline__ float wide(bf16 x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }
__device__ __forceinline__ bf16 narrow(float x) {  // to nearest, ties to even
    const unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<bf16>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
__device__ __forceinline__ float rounded(float x) { return wide(narrow(x)); }
struct alignas(8) Four {
    bf16 at[4];
};

// The sum of a warp as torch's reduction adds it: neighbours first.
__device__ __forceinline__ float of_warp(float value) {
#pragma unroll
    for (int apart = 1; apart < 32; apart <<= 1) value = __fadd_rn(value, __shfl_down_sync(~0u, value, apart));
    return value;
}

// sum [width] = x + delta, out [width] = norm(sum) * weight: the mean of squares in four strands a thread, the strands
// in order, halves of the block onto each other, and then within a warp. One block of 512 threads; width, at least 128, divides by 4.
extern "C" __global__ void __launch_bounds__(512) add_normed(
    bf16* out, bf16* sum, const bf16* x, const bf16* delta, const bf16* weight, float eps, int width, int has_delta) {
    constexpr int MOST = 4;  // times four elements a thread: 8192
    __shared__ float shared[512];
    const int thread = threadIdx.x, fours = width / 4;
    int threads = 512;
    while (threads > fours) threads >>= 1;  // a narrow row has a narrow block
    float held[MOST][4], strand[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const int four = thread + threads * i;
        if (thread >= threads || four >= fours) break;
        const Four given = reinterpret_cast<const Four*>(x)[four];
        Four total = given;
        if (has_delta) {
            const Four more = reinterpret_cast<const Four*>(delta)[four];
#pragma unroll
            for (int j = 0; j < 4; ++j) total.at[j] = narrow(__fadd_rn(wide(given.at[j]), wide(more.at[j])));
        }
        reinterpret_cast<Four*>(sum)[four] = total;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            held[i][j] = wide(total.at[j]);
            strand[j] = __fadd_rn(strand[j], __fmul_rn(held[i][j], held[i][j]));
        }
    }
    float value = __fadd_rn(__fadd_rn(__fadd_rn(strand[0], strand[1]), strand[2]), strand[3]);
    shared[thread] = value;
    for (int apart = threads / 2; apart >= 32; apart >>= 1) {
        __syncthreads();
        if (thread < apart) shared[thread] = value = __fadd_rn(value, shared[thread + apart]);
    }
    __syncthreads();
    if (thread < 32) {
        value = of_warp(value);
        if (thread == 0) shared[0] = value;
    }
    __syncthreads();
    const float scale = rsqrtf(__fadd_rn(__fmul_rn(shared[0], 1.f / width), eps));
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const int four = thread + threads * i;
        if (thread >= threads || four >= fours) break;
        const Four by = reinterpret_cast<const Four*>(weight)[four];
        Four made;
#pragma unroll
        for (int j = 0; j < 4; ++j)
            made.at[j] = narrow(__fmul_rn(wide(by.at[j]), rounded(__fmul_rn(held[i][j], scale))));
        reinterpret_cast<Four*>(out)[four] = made;
    }
}

// A token's heads of 128: queries and keys normed and turned, keys and values put where the position says.
// keys_values [ticks, ..., 2, kv_heads, 128], dense from the key|value axis on, `tick` elements from tick to tick. Norms
// may be absent. A warp a head, four heads a block; a lane has four neighbours.
extern "C" __global__ void __launch_bounds__(128) token_heads(
    bf16* queries, bf16* keys_values, const bf16* q, const bf16* k, const bf16* v, const bf16* q_weight,
    const bf16* k_weight, const bf16* cosine, const bf16* sine, const int64* position, int tick, int heads,
    int kv_heads, float eps, int has_norms) {
    constexpr int DIM = 128;
    const int lane = threadIdx.x % 32, head = blockIdx.x * 4 + threadIdx.x / 32;
    if (head >= heads + 2 * kv_heads) return;
    const bool of_query = head < heads, of_key = !of_query && head < heads + kv_heads;
    const int own = of_query ? head : of_key ? head - heads : head - heads - kv_heads;
    const bf16* from = (of_query ? q : of_key ? k : v) + own * DIM;
    bf16* to = of_query ? queries + own * DIM
                        : keys_values + *position * static_cast<int64>(tick) + ((of_key ? 0 : kv_heads) + own) * DIM;
    Four given = reinterpret_cast<const Four*>(from)[lane];
    if (of_query || of_key) {
        float x[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) x[j] = wide(given.at[j]);
        if (has_norms) {
            float value = __fmul_rn(x[0], x[0]);
#pragma unroll
            for (int j = 1; j < 4; ++j) value = __fadd_rn(value, __fmul_rn(x[j], x[j]));
            value = __shfl_sync(~0u, of_warp(value), 0);
            const float scale = rsqrtf(__fadd_rn(__fmul_rn(value, 1.f / DIM), eps));
            const Four by = reinterpret_cast<const Four*>(of_query ? q_weight : k_weight)[lane];
#pragma unroll
            for (int j = 0; j < 4; ++j) x[j] = rounded(__fmul_rn(wide(by.at[j]), rounded(__fmul_rn(x[j], scale))));
        }
        const Four c = reinterpret_cast<const Four*>(cosine)[lane], s = reinterpret_cast<const Four*>(sine)[lane];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float other = __shfl_xor_sync(~0u, x[j], 16), turned = lane < 16 ? -other : other;
            given.at[j] = narrow(__fadd_rn(
                rounded(__fmul_rn(x[j], wide(c.at[j]))), rounded(__fmul_rn(turned, wide(s.at[j])))));
        }
    }
    reinterpret_cast<Four*>(to)[lane] = given;
}

// out [width] = silu(gate) * up. Four elements a thread.
extern "C" __global__ void __launch_bounds__(128) gated(bf16* out, const bf16* gate, const bf16* up, int width) {
    const int four = blockIdx.x * 128 + threadIdx.x;
    if (four * 4 >= width) return;
    const Four g = reinterpret_cast<const Four*>(gate)[four], u = reinterpret_cast<const Four*>(up)[four];
    Four made;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const float x = wide(g.at[j]);
        made.at[j] = narrow(__fmul_rn(rounded(__fdiv_rn(x, __fadd_rn(1.f, expf(-x)))), wide(u.at[j])));
    }
    reinterpret_cast<Four*>(out)[four] = made;
}
