// float16 and bfloat16 in software, rounding to nearest even.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace simcann {

inline float from_half(uint16_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  uint32_t out;
  if (exponent == 31) {
    out = sign | 0x7f800000u | (mantissa << 13);
  } else if (exponent) {
    out = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else {
    float small = static_cast<float>(mantissa) * (1.0f / 16777216.0f);
    memcpy(&out, &small, 4);
    out |= sign;
  }
  float value;
  memcpy(&value, &out, 4);
  return value;
}

inline uint16_t to_half(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00;   // NaN
  if (size >= 0x477ff000) return sign | 0x7c00;  // infinity
  if (size < 0x38800000) {                       // subnormal
    float magnitude;
    memcpy(&magnitude, &size, 4);
    return sign | static_cast<uint16_t>(std::rint(magnitude * 16777216.0f));
  }
  uint32_t rounded = size - 0x38000000;
  rounded += 0xfff + ((rounded >> 13) & 1);
  return sign | static_cast<uint16_t>(rounded >> 13);
}

inline float from_bfloat(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

inline uint16_t to_bfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  bits += 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

}  // namespace simcann
