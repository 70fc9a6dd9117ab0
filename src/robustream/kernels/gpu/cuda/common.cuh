// What all kernels share: how numbers are read, multiplied and put in order.

// A half-precision number as it lies in memory; no header is needed to read it.
struct Half { unsigned short bits; };

__device__ __forceinline__ float number(float value) { return value; }
__device__ __forceinline__ double number(double value) { return value; }
__device__ __forceinline__ float number(Half value) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return result;
}

// Rounded by themselves: a product fused into a sum would not be the product that the specification compares.
__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float magnitude(float value) { return fabsf(value); }
__device__ __forceinline__ double magnitude(double value) { return fabs(value); }

// The bits of a number that is not negative are ordered as the numbers are.
template <typename Real> struct Order;
template <> struct Order<float> {
    using Bits = unsigned int;
    static constexpr int width = 32;
    static constexpr Bits infinity = 0x7f800000u;
    static __device__ __forceinline__ Bits of(float value) { return __float_as_uint(value); }
    static __device__ __forceinline__ float back(Bits bits) { return __uint_as_float(bits); }
};
template <> struct Order<double> {
    using Bits = unsigned long long;
    static constexpr int width = 64;
    static constexpr Bits infinity = 0x7ff0000000000000ull;
    static __device__ __forceinline__ Bits of(double value) { return __double_as_longlong(value); }
    static __device__ __forceinline__ double back(Bits bits) { return __longlong_as_double(bits); }
};

// Numbers of either sign: negative ones in reverse below the others.
template <typename Real> __device__ __forceinline__ typename Order<Real>::Bits signed_order(Real value) {
    using Bits = typename Order<Real>::Bits;
    constexpr Bits sign = Bits(1) << (Order<Real>::width - 1);
    Bits bits = Order<Real>::of(value == Real(0) ? Real(0) : value);
    return bits & sign ? ~bits : bits | sign;
}
template <typename Real> __device__ __forceinline__ Real signed_back(typename Order<Real>::Bits bits) {
    using Bits = typename Order<Real>::Bits;
    constexpr Bits sign = Bits(1) << (Order<Real>::width - 1);
    return Order<Real>::back(bits & sign ? bits & ~sign : ~bits);
}

__device__ __forceinline__ int sum_of_warp(int value) { return __reduce_add_sync(0xffffffffu, value); }
__device__ __forceinline__ double sum_of_warp(double value) {
    for (int distance = 16; distance; distance >>= 1) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}
