"""Branch and cut on SCIP for the restricted master IP, with cluster constraints added when they are violated."""

from __future__ import annotations

import os

import numpy as np
from pyscipopt import SCIP_HEURTIMING, SCIP_PARAMSETTING, SCIP_RESULT, Conshdlr, Heur, Model

from dagopt.kernels import separation as kernels
from dagopt.master.integer import IntegerSolution
from dagopt.master.separation import ColumnArrays, FractionalSeparator, integer_clusters

E = os.environ.get
STATS = {}

class ScipBranchAndCut:
    name = "scip"

    def solve(self, pool, clusters, incumbent, deadline):
        columns = ColumnArrays.of(pool).without_dominated()
        model = Model()
        try:
            return _solve(model, columns, clusters, incumbent, deadline)
        finally:
            model.free()

def _solve(model, columns, clusters, incumbent, deadline):
    model.hideOutput(not E("V"))
    best = columns.score[columns.offsets[:-1]]
    cost = columns.score - best[columns.node]
    x = [model.addVar(vtype="B", obj=float(c)) for c in cost]
    model.setMaximize()
    n = columns.n_nodes
    bits = np.unpackbits(columns.words.view(np.uint8), axis=1, bitorder="little")[:, :n]
    for i in range(n):
        own = x[columns.offsets[i]:columns.offsets[i+1]]
        c = model.addConsKnapsack if False else None
        model.addCons(sum(own[1:], own[0]) == 1) if False else model.addConsCoeffs if False else None
        from pyscipopt import quicksum
        model.addCons(quicksum(own) == 1)
    arrow = E("ARROW", "")
    if arrow:
        for i in range(n):
            for j in range(n):
                if i == j: continue
                ks = [k for k in range(columns.offsets[i], columns.offsets[i+1]) if bits[k, j]]
                if len(ks) > 1:
                    a = model.addVar(vtype="B")
                    model.addCons(quicksum(x[k] for k in ks) == a)
                    model.chgVarBranchPriority(a, int(arrow))
    h = Acyclic(columns, deadline, x)
    model.includeConshdlr(h, "acyclic", "", sepapriority=10, enfopriority=-10, chckpriority=-10, sepafreq=1,
        propfreq=int(E("PROP", "1")), needscons=False, eagerfreq=-1)
    model.includeHeur(Near(h), "near", "", "N", priority=1000000, freq=int(E("HF","1")), timingmask=SCIP_HEURTIMING.DURINGLPLOOP | SCIP_HEURTIMING.AFTERLPNODE)
    for c in clusters:
        ks = columns.in_row(c)
        if len(ks) >= len(c):
            model.addConsKnapsack([x[k] for k in ks], [1]*len(ks), len(c)-1, initial=True)
    model.setHeuristics(SCIP_PARAMSETTING.OFF)
    model.setParam("heuristics/near/freq", int(E("HF","1")))
    model.setPresolve(SCIP_PARAMSETTING.OFF)
    if E("SEPAOFF"):
        model.setSeparating(SCIP_PARAMSETTING.OFF)
    if E("SEPAFAST"):
        model.setSeparating(SCIP_PARAMSETTING.FAST)
    model.setParam("constraints/acyclic/sepafreq", 1)
    model.setParam("timing/clocktype", 2)
    model.setParam("misc/usesymmetry", 0)
    if deadline.remaining() < 1e15: model.setParam("limits/time", deadline.remaining())
    model.setParam("numerics/feastol", 1e-9)
    model.setParam("numerics/dualfeastol", 1e-9)
    model.setParam("separating/maxroundsroot", -1)
    if E("MAXR"): model.setParam("separating/maxrounds", int(E("MAXR")))
    if E("CUTS"): model.setParam("separating/maxcuts", int(E("CUTS"))); model.setParam("separating/maxcutsroot", 2000)
    if incumbent is not None:
        ch = columns.columns_inside(incumbent)
        if ch is not None:
            s = model.createSol()
            for k in ch: model.setSolVal(s, x[k], 1.0)
            model.addSol(s)
    if E("SET"):
        for kv in E("SET").split(","):
            k, v = kv.split("="); model.setParam(k, eval(v))
    model.optimize()
    STATS.update(nodes=model.getNNodes(), nclusters=len(h.found), **h.t)
    st = model.getStatus()
    sols = model.getSols()
    score = -np.inf; adj = None
    if sols:
        ch = np.array([k for k in range(len(x)) if model.getSolVal(sols[0], x[k]) > 0.5])
        score = columns.score[ch].sum(); adj = columns.adjacency(ch)
    return IntegerSolution(adj, score, best.sum() + model.getDualbound(), tuple(h.found), st)

import time


class Acyclic(Conshdlr):
    def __init__(self, columns, deadline, x):
        self.columns=columns; self.deadline=deadline; self.x=x
        self.sep = FractionalSeparator(int(E("MOST","20")))
        self.found = {}
        self.t = dict(sepa=0.0, nsepa=0, prop=0.0, nprop=0, row=0.0, enfo=0, heur=0.0, nheur=0, ncut=0, fixed=0)
        self.tx = None
    def tvars(self):
        if self.tx is None:
            self.tx = [self.model.getTransformedVar(v) for v in self.x]
        return self.tx
    def lp(self):
        return np.array([v.getLPSol() for v in self.tvars()])
    def rows(self, clusters, force):
        t=time.perf_counter()
        tx = self.tvars(); cut=False; added=False
        for c in clusters:
            self.found[c]=None
            ks = self.columns.in_row(c)
            if E("CONS"):
                self.model.addConsKnapsack([tx[k] for k in ks], [1]*len(ks), len(c)-1, dynamic=True, removable=True, initial=True)
                added=True
                continue
            row = self.model.createEmptyRowUnspec("c", None, len(c)-1, removable=True)
            self.model.cacheRowExtensions(row)
            for k in ks: self.model.addVarToRow(row, tx[k], 1.0)
            self.model.flushRowExtensions(row)
            cut |= bool(self.model.addCut(row, forcecut=force or bool(E("FORCE"))))
            self.model.releaseRow(row)
            added=True
        self.t["row"]+=time.perf_counter()-t; self.t["ncut"]+=len(clusters)
        if cut: return {"result": SCIP_RESULT.CUTOFF}
        return {"result": SCIP_RESULT.CONSADDED if E("CONS") else SCIP_RESULT.SEPARATED} if added else None
    def conssepalp(self, constraints, nuseful):
        t=time.perf_counter()
        v = self.lp()
        cl = self.sep.heuristic(self.columns, v)
        self.t["sepa"]+=time.perf_counter()-t; self.t["nsepa"]+=1
        return self.rows(cl, False) or {"result": SCIP_RESULT.DIDNOTFIND}
    def enforce(self, sol):
        vals = np.array([self.model.getSolVal(sol, v) for v in self.x])
        return integer_clusters(self.columns.adjacency(self.pick(vals)))
    def pick(self, v):
        o = self.columns.offsets
        return np.array([o[i]+np.argmax(v[o[i]:o[i+1]]) for i in range(self.columns.n_nodes)])
    def consenfolp(self, constraints, nuseful, solinfeasible):
        self.t["enfo"]+=1
        cl = integer_clusters(self.columns.adjacency(self.pick(self.lp())))
        return self.rows(cl, True) or {"result": SCIP_RESULT.FEASIBLE}
    def consenfops(self, constraints, nuseful, solinfeasible, objinfeasible):
        return {"result": SCIP_RESULT.INFEASIBLE if self.enforce(None) else SCIP_RESULT.FEASIBLE}
    def conscheck(self, constraints, solution, *a):
        return {"result": SCIP_RESULT.INFEASIBLE if self.enforce(solution) else SCIP_RESULT.FEASIBLE}
    def consprop(self, constraints, a, b, timing):
        t=time.perf_counter()
        tx = self.tvars()
        alive = np.array([v.getUbLocal() for v in tx]) > 0.5
        drop = np.zeros(len(alive), dtype=bool)
        c = self.columns
        ok = kernels.impossible(c.words, c.offsets, alive, drop)
        r = SCIP_RESULT.DIDNOTFIND
        if not ok: r = SCIP_RESULT.CUTOFF
        else:
            for k in np.flatnonzero(drop):
                inf, tight = self.model.tightenVarUb(tx[k], 0.0)
                if inf: r = SCIP_RESULT.CUTOFF; break
                if tight: r = SCIP_RESULT.REDUCEDDOM; self.t["fixed"]+=1
        self.t["prop"]+=time.perf_counter()-t; self.t["nprop"]+=1
        return {"result": r}
    def conslock(self, constraint, locktype, nlockspos, nlocksneg):
        for v in self.tvars(): self.model.addVarLocksType(v, locktype, nlockspos+nlocksneg, nlockspos+nlocksneg)

class Near(Heur):
    def __init__(self, h): self.h=h; self.seen=-np.inf
    def heurexec(self, timing, inf):
        t=time.perf_counter()
        h=self.h
        ch = h.columns.near(h.lp())
        h.t["heur"]+=time.perf_counter()-t; h.t["nheur"]+=1
        if ch is None: return {"result": SCIP_RESULT.DIDNOTFIND}
        sc = h.columns.score[ch].sum()
        if sc <= self.seen + 1e-9: return {"result": SCIP_RESULT.DIDNOTFIND}
        self.seen = sc
        s = self.model.createSol(self)
        for k in ch: self.model.setSolVal(s, h.x[k], 1.0)
        ok = self.model.trySol(s, printreason=False, completely=False)
        return {"result": SCIP_RESULT.FOUNDSOL if ok else SCIP_RESULT.DIDNOTFIND}
