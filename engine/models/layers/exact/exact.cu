// Sums in the very order in which the libraries' own kernels add, so that the bits are theirs, at the few rows of one
// launch, for which those kernels leave most of the GPU idle. Orders were found by measurement (see the decision note
// "the order of a sum"); whoever launches these compares them with the library on the device at hand first.
//
// Letters: rows r = batch * frames, k of a sum, n of its results. All float32, row-major unless a stride is named.

#define RN __fadd_rn
#define MN __fmul_rn

__device__ __forceinline__ void copy_async(float* to, const float* from, bool there) {
    unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
    int bytes = there ? 16 : 0;  // the rest of the sixteen is zeroed
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;"); }
template <int LEFT>
__device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT)); }

__device__ __forceinline__ float gelu_tanh(float x) {
    constexpr float beta = 1.41421356237309504880 * 1.12837916709551257390 * 0.5f;
    constexpr float kappa = 0.044715;
    float cube = x * x * x;
    float inner = beta * (x + kappa * cube);
    return 0.5f * x * (1.0f + tanhf(inner));
}

__device__ __forceinline__ float mish(float x) { return x * tanhf(log1pf(expf(x))); }

__device__ __forceinline__ unsigned tf32(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

// What becomes of a sum: 0 as it is, 1 through a GELU, 2 gated and added to what it started from.
__device__ __forceinline__ float finished(
    float sum, int row, int column, int columns, int frames, int finish, const float* gate, const float* residual) {
    if (finish == 1) return gelu_tanh(sum);
    if (finish == 2) return RN(MN(gate[row / frames * columns + column], sum), residual[row * columns + column]);
    return sum;
}

constexpr int ROWS = 20, COLUMNS = 32, DEPTH = 16, PITCH = DEPTH + 4, STAGES = 3;
constexpr int HIGH = ROWS / 4, WIDE = COLUMNS / 8;  // of a lane
constexpr int STAGE = ROWS * DEPTH + COLUMNS * PITCH;  // floats

// out [rows, columns] = x [rows, depth] w [columns, depth]' + bias. Each sum runs over k in order within a chunk, one
// fused multiply-add after the other; the chunks' sums are added in order, and then the bias.
// A warp makes 20 rows by 32 columns of one chunk, a lane five by four: fewer would wait for shared memory, and with more
// there would be too few warps. Block 32 * chunks, grid (rows / 20, columns / 32).
extern "C" __global__ void __launch_bounds__(128, 1) linear(
    float* out, const float* x, const float* w, const float* bias, int rows, int depth, int columns, int chunk,
    int chunks, int finish, const float* gate, const float* residual, int frames) {
    extern __shared__ __align__(16) float shared[];
    const int part = threadIdx.x / 32, lane = threadIdx.x % 32, ty = lane / 8, tx = lane % 8;
    const int row0 = blockIdx.x * ROWS, column0 = blockIdx.y * COLUMNS;
    const int begin = part * chunk, steps = (min(depth, begin + chunk) - begin) / DEPTH;
    float* own = shared + part * STAGES * STAGE;

    constexpr int LINE = DEPTH / 4, OF_X = ROWS * LINE, PIECES = OF_X + COLUMNS * LINE, EACH = (PIECES + 31) / 32;
    const float* from[EACH];
    int to[EACH];
    bool there[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const int piece = lane + 32 * i, at = piece % LINE * 4;
        const bool of_x = piece < OF_X;
        const int line = of_x ? piece / LINE : (piece - OF_X) / LINE;
        there[i] = of_x ? row0 + line < rows : column0 + line < columns;
        from[i] = of_x ? x + (there[i] ? row0 + line : 0) * depth + begin + at
                       : w + (there[i] ? column0 + line : 0) * depth + begin + at;
        to[i] = of_x ? line * DEPTH + at : ROWS * DEPTH + line * PITCH + at;
    }
    auto fetch = [&](int step) {
        if (step < steps) {
            float* stage = own + step % STAGES * STAGE;
#pragma unroll
            for (int i = 0; i < EACH; ++i)
                if (lane + 32 * i < PIECES) copy_async(stage + to[i], from[i] + step * DEPTH, there[i]);
        }
        commit_copies();
    };
    float sum[HIGH][WIDE] = {};
    for (int step = 0; step < STAGES - 1; ++step) fetch(step);
    for (int step = 0; step < steps; ++step) {
        wait_copies<STAGES - 2>();
        __syncwarp();
        fetch(step + STAGES - 1);
        const float *a = own + step % STAGES * STAGE + ty * DEPTH, *b = a + (ROWS - ty) * DEPTH + tx * PITCH;
        float4 left[2][HIGH], right[2][WIDE];
        auto take = [&](int k) {
#pragma unroll
            for (int j = 0; j < WIDE; ++j) right[k / 4 % 2][j] = *reinterpret_cast<const float4*>(b + 8 * j * PITCH + k);
#pragma unroll
            for (int i = 0; i < HIGH; ++i) left[k / 4 % 2][i] = *reinterpret_cast<const float4*>(a + 4 * i * DEPTH + k);
        };
        
        take(0);
#pragma unroll
        for (int k = 0; k < DEPTH; k += 4) {
            if (k + 4 < DEPTH) take(k + 4);
            const float4 *l = left[k / 4 % 2], *r = right[k / 4 % 2];
#pragma unroll
            for (int one = 0; one < HIGH * WIDE; ++one) sum[one / WIDE][one % WIDE] = __fmaf_rn(l[one / WIDE].x, r[one % WIDE].x, sum[one / WIDE][one % WIDE]);
#pragma unroll
            for (int one = 0; one < HIGH * WIDE; ++one) sum[one / WIDE][one % WIDE] = __fmaf_rn(l[one / WIDE].y, r[one % WIDE].y, sum[one / WIDE][one % WIDE]);
#pragma unroll
            for (int one = 0; one < HIGH * WIDE; ++one) sum[one / WIDE][one % WIDE] = __fmaf_rn(l[one / WIDE].z, r[one % WIDE].z, sum[one / WIDE][one % WIDE]);
#pragma unroll
            for (int one = 0; one < HIGH * WIDE; ++one) sum[one / WIDE][one % WIDE] = __fmaf_rn(l[one / WIDE].w, r[one % WIDE].w, sum[one / WIDE][one % WIDE]);
        }
        __syncwarp();
    }
    wait_copies<0>();
    __syncthreads();
    constexpr int TILE = ROWS * COLUMNS;
#pragma unroll
    for (int one = 0; one < HIGH * WIDE; ++one)
        shared[part * TILE + (ty + 4 * (one / WIDE)) * COLUMNS + tx + 8 * (one % WIDE)] = sum[one / WIDE][one % WIDE];
    __syncthreads();
    const int column = column0 + lane;
    for (int i = part; i < ROWS; i += chunks) {
        const int row = row0 + i;
        if (row >= rows || column >= columns) continue;
        const float* parts = shared + i * COLUMNS + lane;
        float total = parts[0];
        for (int other = 1; other < chunks; ++other) total = RN(total, parts[other * TILE]);
        out[row * columns + column] =
            finished(RN(total, bias[column]), row, column, columns, frames, finish, gate, residual);
    }
}

// Mean and spread as they accumulate (Welford), merged in a tree: as torch's vectorised layer norm does.
struct Moments {
    float mean, spread, count;
};
__device__ __forceinline__ Moments with(Moments so_far, float value) {
    float delta = value - so_far.mean;
    float count = so_far.count + 1.f;
    float mean = so_far.mean + delta * (1.f / count);
    return {mean, so_far.spread + delta * (value - mean), count};
}
__device__ __forceinline__ Moments merged(Moments own, Moments other) {
    float delta = own.mean - other.mean;
    float count = other.count + own.count;
    if (!(count > 0.f)) return {0.f, 0.f, 0.f};
    float share = 1.f / count;
    float theirs = other.count * share, ours = own.count * share;
    float mean = theirs * other.mean + ours * own.mean;
    float spread = other.spread + own.spread + delta * delta * other.count * ours;
    return {mean, spread, count};
}
__device__ __forceinline__ Moments merged_in_warp(Moments own) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        Moments other{__shfl_down_sync(~0u, own.mean, apart), __shfl_down_sync(~0u, own.spread, apart),
                      __shfl_down_sync(~0u, own.count, apart)};
        own = merged(own, other);
    }
    return own;
}

// Rows that are copied by the way: [ticks, batch, width], each with strides of its own.
struct Rows {
    float* to;
    const float* from;
    int to_tick, to_batch, from_tick, from_batch;
};

// A norm over 512, by one block of 128 threads a row, then either scaled and shifted by a step's time (kind 0), or
// by its weights and through a Mish (kind 1). Row r of x goes to [batch, lead + frame] of out. Where a convolution follows
// (`lead` frames of its tail come first), what it reads is rounded to TF32, as it would itself, and the last `lead` frames
// are put aside unrounded, [lead, batch, 512]; blocks behind the last row bring the tail, and carry on `fresh` frames that
// a kernel before put aside.
extern "C" __global__ void __launch_bounds__(128) normed(
    float* out, const float* x, const float* scale, const float* shift, double eps, int kind, int rows, int frames,
    int lead, const float* tail, int tail_tick, int tail_batch, float* aside, float* carried, const float* fresh,
    int carried_tick, int carried_batch) {
    constexpr int WIDTH = 512;
    __shared__ float merging[3][2];
    __shared__ float found[2];
    const int row = blockIdx.x, at = threadIdx.x * 4, batches = rows / frames;
    if (row >= rows) {
        const int copy = row - rows, leading = lead * batches;
        if (copy < leading) {
            const int tick = copy / batches, batch = copy % batches;
            const float* from = tail + tick * tail_tick + batch * tail_batch + at;
            float* to = out + (batch * (lead + frames) + tick) * WIDTH + at;
#pragma unroll
            for (int i = 0; i < 4; ++i) to[i] = __uint_as_float(tf32(from[i]));
        } else {
            const int tick = (copy - leading) / batches, batch = (copy - leading) % batches;
            *reinterpret_cast<float4*>(carried + tick * carried_tick + batch * carried_batch + at) =
                *reinterpret_cast<const float4*>(fresh + (tick * batches + batch) * WIDTH + at);
        }
        return;
    }
    const float4 values = *reinterpret_cast<const float4*>(x + row * WIDTH + at);
    const float value[4] = {values.x, values.y, values.z, values.w};
    Moments moments{0.f, 0.f, 0.f};
#pragma unroll
    for (int i = 0; i < 4; ++i) moments = with(moments, value[i]);
    moments = merged_in_warp(moments);
    const int warp = threadIdx.x / 32;
    for (int apart = 2; apart > 0; apart /= 2) {
        if (threadIdx.x % 32 == 0 && warp >= apart && warp < 2 * apart) {
            merging[0][warp - apart] = moments.mean;
            merging[1][warp - apart] = moments.spread;
            merging[2][warp - apart] = moments.count;
        }
        __syncthreads();
        if (threadIdx.x % 32 == 0 && warp < apart)
            moments = merged(moments, Moments{merging[0][warp], merging[1][warp], merging[2][warp]});
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        found[0] = moments.mean;
        found[1] = moments.spread / float(WIDTH);
    }
    __syncthreads();
    const float mean = found[0], root = rsqrtf(found[1] + float(eps));
    const int batch = row / frames, frame = row % frames;
    float* to = out + (batch * (lead + frames) + lead + frame) * WIDTH + at;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float result;
        if (kind == 0) {
            const float even = MN(root, RN(value[i], -mean));
            result = RN(MN(even, scale[batch * WIDTH + at + i]), shift[batch * WIDTH + at + i]);
        } else {
            result = mish(scale[at + i] * (root * (value[i] - mean)) + shift[at + i]);
        }
        if (lead > 0 && frame >= frames - lead)
            aside[((frame - (frames - lead)) * batches + batch) * WIDTH + at + i] = result;
        to[i] = lead > 0 ? __uint_as_float(tf32(result)) : result;
    }
}

// One row's product [3 * heads * 64] as a query, normed, and as a key, normed, and value, where they are carried:
// [tick, batch, head, key | value]. A warp a head and part.
extern "C" __global__ void __launch_bounds__(256) heads(
    float* query, float* carried, const float* product, const float* query_scale, const float* query_shift,
    const float* key_scale, const float* key_shift, double eps, int rows, int frames, int count, int tick_stride,
    int batch_stride) {
    constexpr int DIM = 64;
    const int one = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, at = lane * 4;
    const int row = one / (3 * count), part = one / count % 3, head = one % count;
    if (row >= rows) return;
    const bool busy = lane < DIM / 4;
    float value[4] = {};
    if (busy) {
        const float4 values =
            *reinterpret_cast<const float4*>(product + (row * 3 + part) * count * DIM + head * DIM + at);
        value[0] = values.x, value[1] = values.y, value[2] = values.z, value[3] = values.w;
    }
    const int batch = row / frames, frame = row % frames;
    float* kept = carried + frame * tick_stride + batch * batch_stride + head * 2 * DIM;
    if (part == 2) {
        if (busy) *reinterpret_cast<float4*>(kept + DIM + at) = make_float4(value[0], value[1], value[2], value[3]);
        return;
    }
    Moments moments{0.f, 0.f, 0.f};
    if (busy)
#pragma unroll
        for (int i = 0; i < 4; ++i) moments = with(moments, value[i]);
    moments = merged_in_warp(moments);
    const float mean = __shfl_sync(~0u, moments.mean, 0);
    const float root = rsqrtf(__shfl_sync(~0u, moments.spread / float(DIM), 0) + float(eps));
    if (!busy) return;
    const float *scale = part ? key_scale : query_scale, *shift = part ? key_shift : query_shift;
    float* to = part ? kept + at : query + (row * count + head) * DIM + at;
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = scale[at + i] * (root * (value[i] - mean)) + shift[at + i];
}

// A convolution over three frames of 512 channels, x [batch, 2 + frames, 512], w [channels, taps, 512], both rounded to
// TF32, to [batch, frames, 512]. Sums run over blocks of 64 channels, in a block over the taps, in a tap over eight
// channels at a time, which one tensor instruction adds at once; then comes the bias.
// A warp makes 16 frames by 8 channels. Grid (512 / 8, batch, frames / 64), block 128.
extern "C" __global__ void __launch_bounds__(128, 1) convolution(
    float* out, const float* x, const float* w, const float* bias, int frames, int finish, const float* gate,
    const float* residual) {
    constexpr int WIDTH = 512, BLOCK = 64, TAPS = 3, FRAMES = 64, CHANNELS = 8;
    constexpr int PITCH_X = BLOCK + 4, PITCH_W = TAPS * BLOCK + 4, ROWS_X = FRAMES + TAPS - 1;
    __shared__ __align__(16) float xs[2][ROWS_X * PITCH_X];
    __shared__ __align__(16) float ws[2][CHANNELS * PITCH_W];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int channel0 = blockIdx.x * CHANNELS, batch = blockIdx.y, frame0 = blockIdx.z * FRAMES;
    const float* rows = x + (batch * (frames + TAPS - 1) + frame0) * WIDTH;
    const int there = min(ROWS_X, frames + TAPS - 1 - frame0);

    auto fetch = [&](int block) {
        if (block < WIDTH / BLOCK) {
            constexpr int LINE = BLOCK / 4;
#pragma unroll
            for (int piece = threadIdx.x; piece < ROWS_X * LINE; piece += 128) {
                const int line = piece / LINE, at = piece % LINE * 4;
                copy_async(&xs[block % 2][line * PITCH_X + at], rows + (line < there ? line : 0) * WIDTH + block * BLOCK + at,
                           line < there);
            }
#pragma unroll
            for (int piece = threadIdx.x; piece < CHANNELS * TAPS * LINE; piece += 128) {
                const int line = piece / LINE, at = piece % LINE * 4, channel = line / TAPS, tap = line % TAPS;
                copy_async(&ws[block % 2][channel * PITCH_W + tap * BLOCK + at],
                           w + ((channel0 + channel) * TAPS + tap) * WIDTH + block * BLOCK + at, true);
            }
        }
        commit_copies();
    };
    float sum[4] = {};
    fetch(0);
    for (int block = 0; block < WIDTH / BLOCK; ++block) {
        fetch(block + 1);
        wait_copies<1>();
        __syncthreads();
        // Each lane names one line of four numbers for the matrices that follow: of x rows 0-7 and 8-15, then the same
        // four channels on; of w four channels, the next four, and so for the next eight.
        const unsigned xa = static_cast<unsigned>(__cvta_generic_to_shared(
            &xs[block % 2][(warp * 16 + lane % 16) * PITCH_X + lane / 16 * 4]));
        const unsigned wa = static_cast<unsigned>(__cvta_generic_to_shared(&ws[block % 2][lane % 8 * PITCH_W + lane / 8 * 4]));
#pragma unroll
        for (int tap = 0; tap < TAPS; ++tap) {
#pragma unroll
            for (int k = 0; k < BLOCK; k += 16) {
                unsigned b[4];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                             : "r"(wa + (tap * BLOCK + k) * 4));
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    unsigned a[4];
                    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                                 : "r"(xa + (tap * PITCH_X + k + 8 * half) * 4));
                    asm volatile(
                        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * half]), "r"(b[2 * half + 1]));
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int frame = frame0 + warp * 16 + lane / 4 + i / 2 * 8, channel = channel0 + lane % 4 * 2 + i % 2;
        if (frame >= frames) continue;
        const int row = batch * frames + frame;
        out[row * WIDTH + channel] =
            finished(RN(sum[i], bias[channel]), row, channel, WIDTH, frames, finish, gate, residual);
    }
}
