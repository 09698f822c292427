// Prints alpha, v and the two-sided normal mixture bound of confseq, tuned to
// v = 1000. The bound over v is our half-width at n = v with variance 1.
#include <cstdio>
#include "uniform_boundaries.h"

int main() {
  for (double alpha : {0.2, 0.05, 0.01, 0.001})
    for (double v : {10.0, 100.0, 1000.0, 5000.0, 100000.0})
      std::printf("%.17g %.17g %.17g\n", alpha, v, confseq::normal_mixture_bound(v, alpha, 1000, alpha, false));
}
