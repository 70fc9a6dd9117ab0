import cProfile, pstats, io, sys, time
import cupy as cp, numpy as np
import robustream as rs
f32=np.float32
def show(pr,title,n=24,key="tottime"):
    s=io.StringIO(); pstats.Stats(pr,stream=s).sort_stats(key).print_stats(n); t=[l[:150] for l in s.getvalue().splitlines() if l.strip()]; print(title,*t[4:],sep="\n")
X=cp.random.standard_normal((1_000_000,100),dtype=f32)
X+=cp.random.standard_normal((1_000_000,1),dtype=f32)*3
m=rs.OutlierRobustPCA(5,batch_size=1_000_000); m.partial_fit(X)
pr=cProfile.Profile(); pr.enable()
for _ in range(4): m.partial_fit(X)
pr.disable(); show(pr,"PCA refined 4 batches")
del X
X=cp.empty((500_000,4096),np.float16)
for a in range(0,500_000,50_000): X[a:a+50_000]=cp.random.standard_normal((50_000,4096),dtype=f32)
y=cp.where(cp.random.standard_normal((500_000,200),dtype=f32)>0,1,-1).astype(f32)
m=rs.OutlierRobustRegressor(aggregator=rs.aggregators.Filtered(budget="16 GB"),fit_intercept=False,batch_size=500_000)
m.partial_fit(X,y)
pr=cProfile.Profile(); pr.enable()
for _ in range(3): m.partial_fit(X,y)
pr.disable(); show(pr,"tags refined 3 batches",30)
pr=cProfile.Profile(); pr.enable(); m.coef_; pr.disable(); show(pr,"settle 4",14)
