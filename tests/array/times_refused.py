"""Calls with times that the card leaves to the host or refuses, and statements that write.

The names are those of ``times_examples``.
"""

# computed on the host, counted
ON_HOST = """
np.nanmedian(m)
np.intersect1d(M, M, return_indices=True)
np.where(m)
np.where(m, 1, 2)
np.compress(m, i)
np.apply_over_axes(np.max, T, [0])
np.percentile(M[2:], 30)
np.quantile(m[2:], 0.3)
np.percentile(m, 30)
np.gradient(m)
np.gradient(M)
np.trapezoid(f, m)
np.dot(m, i)
np.add.reduceat(m,[0,2])
np.subtract.reduce(m)
np.sum(m, dtype='i8')
np.sum(m, dtype='f8')
np.mean(m, dtype='f8')
np.median(m[:0])
np.isin(M, i)
np.subtract.accumulate(m)
np.quantile(M[2:], [0.25], method='lower')
np.quantile(M[2:], 0.25, method='nearest')
""".strip().splitlines()

# refused with NumPy's type of error
REFUSED = """
M + dt.timedelta(1)
M - dt.datetime(2000,1,1)
m * dt.timedelta(1)
m + dt.timedelta(1)
M - dt.date(2000,1,1)
M + 1.5
M < i
M < '2020-01-01'
np.equal(M, '2020-01-01')
i - M
m % 3
divmod(m, 2)
2 / m
-M
np.sign(M)
+M
np.isnat(i)
m > 5.5
m & m
np.logical_not(M)
np.invert(m)
~M
np.square(m)
np.clip(M, '2000-01-01', '2010-01-01')
np.sum(M)
np.mean(M)
np.std(m)
np.median(M[2:])
np.cumsum(M)
np.cumprod(m)
np.prod(m)
np.interp(M, M, i)
np.gradient(f, M)
np.histogram(M[2:])
np.digitize(M, np.sort(M[2:]))
np.bincount(m)
A([14],'m8[M]') + A([1],'m8[D]')
A([14],'M8[D]') + A([1],'m8[M]')
np.result_type(m, 1.5)
np.result_type(M, 1)
np.where(b, M, 0)
np.where(b, m, 0.5)
np.where(b, M, '2020-01-01')
np.concatenate([m, f])
np.concatenate([M, m])
np.concatenate([M, i])
np.append(M, '2020')
np.pad(m, 1, mode='maximum')
np.pad(m, 1, mode='linear_ramp')
np.conj(m)
np.allclose(m,m)
np.isclose(m, m)
np.round(m)
np.rint(m)
np.floor(m)
np.matmul(m, i)
np.average(m)
np.average(m[2:], weights=[1,2])
np.var(m)
np.cross(m[:3], i[:3])
np.fmod(m, m)
np.power(m, 2)
np.hypot(m, m)
np.gcd(m, m)
np.heaviside(m, m)
np.bitwise_count(m)
np.select([b, ~b],[M, M],default=0)
np.select([b, ~b],[M, M])
np.sum(m, dtype='m8[ns]')
np.max(M[:0])
np.where(b, m, f)
np.where(b, m, u)
np.minimum(M, m)
np.minimum(M, 3)
np.minimum(m, u)
np.searchsorted(np.sort(M), m)
np.searchsorted(np.sort(M), '2020-01-01')
np.logical_not(m)
m + 2**70
m * 2**70
np.sum(m[2:], initial=1.7)
np.max(m[2:], initial=1.7)
np.diff(M, prepend=5)
np.ediff1d(M, to_end=5)
np.choose([0,1,1,0],[M,i])
np.choose([0,1,1,0],[M,m])
np.select([b, ~b],[M, m],default=np.datetime64('NaT'))
np.append(m, 5.5)
np.append(M, 5)
np.concatenate([m, f], dtype='m8[s]')
np.clip(m, 0.5, 1)
np.bitwise_or.reduce(m)
np.unwrap(m)
np.add(M, 1, dtype='M8[ms]')
""".strip().splitlines()

# statements that write
WRITES = """
M[:] = i
M[:] = m
M[:] = D
M[:] = f
M[:] = '2000'
M[0] = 5
M[0] = dt.datetime(2000,1,1)
M[0] = dt.date(2000,1,1)
M[0] = None
M[0] = np.timedelta64(5,'s')
m[0] = np.datetime64(5,'s')
m[0] = dt.timedelta(1)
m[:] = f
m[0] = '5'
m[0] = np.timedelta64(3,'D')
M[0] = np.datetime64('2000-01-01T00:00:00.7')
M[0] = np.int32(4)
M[0] = True
np.copyto(M, D)
np.copyto(m, i)
np.copyto(m, f, casting='unsafe')
np.copyto(D, M)
np.put(M, [0], 5)
np.put(M, [0], '2000')
np.put(M, [0], D[2])
np.putmask(M, b, 5)
np.putmask(M, b, D)
np.place(M, b, [5])
np.place(M, b, D)
np.put_along_axis(M, A([0]), 5, 0)
M += m
M += 1
m *= 2
m *= 1.5
m /= 2
m //= 2
m //= m
m %= m
m += np.timedelta64(1,'ms')
""".strip().splitlines()

# statements that are refused
REFUSED_WRITES = """
np.copyto(M, '2000')
M[0] = 5.5
m[0] = 5.5
m[0] = np.timedelta64(1,'M')
M[0] = object()
i[0] = M[0]
i[0] = m[0]
np.copyto(M, 5)
np.copyto(M, i)
np.copyto(M, m)
np.copyto(m, f)
np.copyto(m, 5.5)
np.putmask(M, b, m)
M -= M
i += m
f *= m
""".strip().splitlines()
