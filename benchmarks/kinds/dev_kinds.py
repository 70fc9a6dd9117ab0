import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _reg
import _pca
KINDS = _reg.KINDS + _pca.KINDS


def _stride(ks, m):
    return [ks[int(i * len(ks) / m)] for i in range(m)] if len(ks) > m else list(ks)


# a smaller even pick, where all of KINDS takes too long: 30 + 60 regression, 24 + 46 PCA
CORE = [k for prob, h, d in (('regression', 30, 60), ('pca', 24, 46))
        for hon, m in ((True, h), (False, d))
        for k in _stride([q for q in KINDS if q.problem == prob and q.honest == hon], m)]
BY_NAME = {k.name: k for k in KINDS}
