import type { PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { contextOf, homePod } from "../test-support/translation.ts";
import { farPodOf, type FarPod } from "./far-pod.ts";

type Term = NonNullable<
  NonNullable<NonNullable<PodSpec["affinity"]>["podAntiAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>[number];
type Constraint = NonNullable<PodSpec["topologySpreadConstraints"]>[number];

const one = {};
const same = { namespaces: { mode: "same" } };
const prefix = { namespaces: { mode: "prefix", prefix: "home-" } };
const inShop = { key: "virtual-kubelet.io/namespace", operator: "In", values: ["shop"] };

function translate(spec: Partial<PodSpec>, config: object): FarPod {
  return farPodOf(homePod(spec), { claims: new Map() }, contextOf(config));
}

/** Translates a term of a required anti-affinity. */
function farTerms(term: Partial<Term>, config: object): { readonly terms: readonly Term[] | undefined; readonly note: string | undefined } {
  const home: Term = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } }, ...term };
  const { pod, notes } = translate({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [home] } } }, config);
  return { terms: pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, note: notes[0]?.message };
}

function farConstraints(constraint: Partial<Constraint>, config: object) {
  const home: Constraint = { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule", ...constraint };
  const { pod, notes } = translate({ topologySpreadConstraints: [home] }, config);
  return { constraints: pod.spec?.topologySpreadConstraints, note: notes[0]?.message };
}

describe("affinity between pods is carried, and node affinity is not", () => {
  const term: Term = { topologyKey: "zone", labelSelector: { matchLabels: { app: "web" } } };
  const affinity: PodSpec["affinity"] = {
    nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: [] } }] },
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [term],
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 7, podAffinityTerm: term }],
    },
  };

  test("by default", () => {
    expect(translate({ affinity }, same).pod.spec?.affinity).toEqual({ podAffinity: affinity.podAffinity });
    expect(translate({ affinity }, same).notes).toEqual([]);
  });

  test("unless the configuration drops it, which is told", () => {
    const { pod, notes } = translate({ affinity }, { scheduling: { podAffinity: "drop" } });

    expect(pod.spec).not.toHaveProperty("affinity");
    expect(notes[0]?.message).toBe("spec.affinity.podAffinity: left out; scheduling.podAffinity: carry keeps it");
  });

  test("without a rest if only node affinity was there", () => {
    expect(translate({ affinity: { nodeAffinity: affinity.nodeAffinity } }, same).pod.spec).not.toHaveProperty("affinity");
  });
});

describe("a pod that may tolerate the taint of a virtual node of the far cluster", () => {
  const any = { operator: "Exists" };
  const own = { key: "example.com/clusters", operator: "Exists" };
  const state = { key: "node.kubernetes.io/memory-pressure", operator: "Exists" };
  const usual = { key: "virtual-kubelet.io/provider", operator: "Exists" };
  const affinity = (tolerations: PodSpec["tolerations"], configured: object[] = []): PodSpec["affinity"] =>
    translate({ tolerations }, { scheduling: { tolerations: configured } }).pod.spec?.affinity;

  test.each([[[any]], [[own]], [[usual, own]], [[state, any]]])(
    "stays off them, so that no clusters pass it round and round: %j",
    (tolerations) => {
      const keptOff = { matchExpressions: [{ key: "type", operator: "NotIn", values: ["virtual-kubelet"] }] };

      expect(affinity(tolerations)).toEqual({
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [keptOff] } },
      });
    },
  );

  test("may use them if the configuration has the toleration, or one for their usual taint", () => {
    expect(affinity([own], [own])).toBeUndefined();
    expect(affinity([any, own], [usual])).toBeUndefined();
    expect(affinity([own], [any])).toBeUndefined();
    expect(affinity([any], [own])).toBeDefined();
  });

  test("is none that tolerates only the taint of its own node, and the state of nodes", () => {
    expect(affinity([usual, state])).toBeUndefined();
  });
});

test("a virtual node for one far node has its pods there, whatever they tolerate", () => {
  const only = { matchFields: [{ key: "metadata.name", operator: "In", values: ["far-1"] }] };

  expect(translate({ tolerations: [{ operator: "Exists" }] }, { scheduling: { farNode: "far-1" } }).pod.spec?.affinity).toEqual({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [only] } },
  });
});

describe("namespaces of a term", () => {
  test("that has none: the pod's own, also where namespaces share a far one", () => {
    expect(farTerms({}, same).terms).toEqual([{ topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } } }]);
    expect(farTerms({}, one).terms).toEqual([
      { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" }, matchExpressions: [inShop] } },
    ]);
  });

  test("by name are mapped", () => {
    expect(farTerms({ namespaces: ["shop", "bank"] }, prefix).terms).toMatchObject([{ namespaces: ["home-shop", "home-bank"] }]);
    expect(farTerms({ namespaces: ["shop", "bank"] }, one).terms).toEqual([
      {
        topologyKey: "kubernetes.io/hostname",
        labelSelector: { matchLabels: { app: "web" }, matchExpressions: [{ ...inShop, values: ["shop", "bank"] }] },
      },
    ]);
  });

  test("selected by the label with their names are mapped, too", () => {
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": "bank" } };

    expect(farTerms({ namespaces: ["shop"], namespaceSelector }, prefix).terms).toEqual([
      {
        topologyKey: "kubernetes.io/hostname",
        labelSelector: { matchLabels: { app: "web" } },
        namespaces: ["home-shop", "home-bank"],
      },
    ]);
    expect(farTerms({ namespaceSelector }, one).terms).toMatchObject([
      { labelSelector: { matchExpressions: [{ ...inShop, values: ["bank"] }] } },
    ]);
  });

  test("all of them are all far ones, or all that share the far one", () => {
    expect(farTerms({ namespaceSelector: {} }, same).terms).toMatchObject([{ namespaceSelector: {} }]);
    expect(farTerms({ namespaceSelector: {} }, one).terms).toEqual([
      { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } } },
    ]);
  });

  test("selected by other labels: by those of the far namespaces, if each home namespace has one; otherwise the term is left out and told", () => {
    const namespaceSelector = { matchLabels: { team: "a" } };

    expect(farTerms({ namespaceSelector }, same).terms).toMatchObject([{ namespaceSelector }]);
    expect(farTerms({ namespaceSelector }, one)).toEqual({
      terms: undefined,
      note: "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector: the term is left out, because the labels of home namespaces are not known in the far cluster; select namespaces by name",
    });
  });
});

describe("labels of a term", () => {
  test("have the prefix that carried labels have", () => {
    const config = { ...same, carry: { labels: { prefix: "home.example.com/" } } };
    const labelSelector = { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "Exists" }] };

    expect(farTerms({ labelSelector, matchLabelKeys: ["version"] }, config).terms).toMatchObject([
      {
        labelSelector: {
          matchLabels: { "home.example.com/app": "web" },
          matchExpressions: [{ key: "home.example.com/tier", operator: "Exists" }],
        },
        matchLabelKeys: ["home.example.com/version"],
      },
    ]);
  });

  test("that stay at home: the term is left out and told", () => {
    expect(farTerms({}, { ...same, carry: { labels: { exclude: ["app"] } } })).toEqual({
      terms: undefined,
      note: "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: the term is left out, because it selects a label that stays at home; see carry.labels.exclude",
    });
  });

  test("by key: those that home has merged into the selector are not merged twice", () => {
    const labelSelector = { matchExpressions: [{ key: "pod-template-hash", operator: "In", values: ["5d4f"] }] };
    const [term] = farTerms({ labelSelector, matchLabelKeys: ["pod-template-hash"], mismatchLabelKeys: ["tenant"] }, same).terms ?? [];

    expect(term).toEqual({ topologyKey: "kubernetes.io/hostname", labelSelector, mismatchLabelKeys: ["tenant"] });
  });

  test("without a selector, which selects nothing, stay without", () => {
    expect(farTerms({ labelSelector: undefined }, one).terms).toEqual([{ topologyKey: "kubernetes.io/hostname" }]);
  });
});

describe("topology spread", () => {
  const labelSelector = { matchLabels: { app: "web" } };

  test("is carried for the far nodes, among the pods of the home namespace", () => {
    const rest = { minDomains: 2, nodeAffinityPolicy: "Ignore", nodeTaintsPolicy: "Honor" };
    const [constraint] = farConstraints({ labelSelector, matchLabelKeys: ["pod-template-hash"], ...rest }, one).constraints ?? [];

    expect(constraint).toEqual({
      maxSkew: 1,
      topologyKey: "kubernetes.io/hostname",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { ...labelSelector, matchExpressions: [inShop] },
      matchLabelKeys: ["pod-template-hash"],
      ...rest,
    });
  });

  test("by a label that stays at home is left out and told", () => {
    expect(farConstraints({ labelSelector }, { carry: { labels: { exclude: ["*"] } } })).toEqual({
      constraints: undefined,
      note: "spec.topologySpreadConstraints[0].labelSelector: the constraint is left out, because it selects a label that stays at home; see carry.labels.exclude",
    });
  });

  test("may be dropped, which is told", () => {
    expect(farConstraints({ labelSelector }, { scheduling: { topologySpread: "drop" } })).toEqual({
      constraints: undefined,
      note: "spec.topologySpreadConstraints: left out; scheduling.topologySpread: carry keeps them",
    });
  });
});
