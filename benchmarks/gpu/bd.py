import cupy as cp, numpy as np
from robustream.kernels.gpu import pairs, digits, columns, signs, device
X=cp.random.standard_normal((1_000_000,100),dtype=np.float32)
log=[]; original=device.kernel
def spy(name,*types):
    k=original(name,*types)
    def call(*a,**b):
        s,e=cp.cuda.Event(),cp.cuda.Event(); s.record(); k(*a,**b); e.record(); log.append((name,s,e,a[0]))
    return call
for n in (1_000_000,100_000,10_000):
    x=X[:n]
    for _ in range(3): pairs.trimmed_covariance(x,.2)
    for m in (pairs,digits): m.kernel=spy
    log.clear(); pairs.trimmed_covariance(x,.2); cp.cuda.Device().synchronize()
    print(n,"; ".join(f"{a}{g[0]} {cp.cuda.get_elapsed_time(s,e):.3f}" for a,s,e,g in log))
    for m in (pairs,digits): m.kernel=original
