import fc from "fast-check";
import { expect, test } from "vitest";
import { readLabels, toLabels, type PodLabels } from "./pod-labels.ts";

const owner = { clusterId: "c1", nodeName: "n1" };
const ref = { namespace: "shop", name: "web", uid: "0a1b2c3d-0000-4000-8000-000000000000" };
const plain: PodLabels = {
  ref,
  owner,
  containers: ["web", "side"],
  initContainers: ["setup"],
  restartPolicy: "OnFailure",
  ownsPorts: true,
  securityGroups: ["web", "Any thing"],
  floatingIp: "new",
  attempt: 3,
};
const written = toLabels(plain, "2026-11-21T10:00:00Z");
const domain = "virtual-kubelet.io";

const nameArbitrary = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);

test("what was written is read again", () => {
  const labels = fc.record({
    ref: fc.record({ namespace: nameArbitrary, name: nameArbitrary, uid: fc.uuid() }),
    owner: fc.constant(owner),
    containers: fc.uniqueArray(nameArbitrary, { minLength: 1, maxLength: 4 }),
    initContainers: fc.uniqueArray(nameArbitrary, { maxLength: 3 }),
    restartPolicy: fc.constantFrom("Always" as const, "OnFailure" as const, "Never" as const),
    ownsPorts: fc.boolean(),
    securityGroups: fc.uniqueArray(nameArbitrary, { maxLength: 3 }),
    floatingIp: fc.constantFrom(undefined, "new", "203.0.113.7"),
    attempt: fc.nat(999),
  });
  fc.assert(
    fc.property(labels, (each) => {
      expect(readLabels(toLabels(each, ""), owner)).toEqual({ kind: "pod", labels: each });
    }),
  );
});

test.each<[string, object, "foreign" | RegExp]>([
  ["somebody's", { [`${domain}/managed-by`]: "heat" }, "foreign"],
  ["without a manager", { [`${domain}/managed-by`]: undefined }, "foreign"],
  ["of another node", { NodeName: "n2", [`${domain}/containers`]: 7 }, "foreign"],
  ["of another cluster", { ClusterName: "c2", UID: 7 }, "foreign"],
  ["whose manager is no text", { [`${domain}/managed-by`]: 7 }, /managed-by, NodeName and ClusterName/],
  ["whose node is no text", { NodeName: {} }, /whose it is cannot be told/],
  ["without a node", { NodeName: "" }, /whose it is cannot be told/],
  ["without a UID", { UID: "" }, /^labels: UID: /],
  ["with spaces in the UID", { UID: "a b" }, /^labels: UID: expected a UID/],
  ["whose name is a number", { PodName: 5 }, /^labels: PodName: /],
  ["without a namespace", { Namespace: undefined }, /^labels: Namespace: /],
  ["without containers", { [`${domain}/containers`]: "" }, /io\/containers: expected names of containers/],
  ["whose containers are a list", { [`${domain}/containers`]: ["web"] }, /io\/containers: /],
  ["with a restart policy that is none", { [`${domain}/restart-policy`]: "always" }, /io\/restart-policy: /],
  ["that own ports in another word", { [`${domain}/owns-ports`]: "yes" }, /io\/owns-ports: /],
  ["with a floating IP that is none", { [`${domain}/floating-ip`]: "10.0.0" }, /io\/floating-ip: expected new, or an IP address/],
  ["with an attempt that is none", { [`${domain}/attempt`]: "-1" }, /io\/attempt: expected a number from 1/],
  ["of a later release", { [`${domain}/version`]: "2" }, /io\/version: this release reads version 1; run the release that wrote it/],
  ["of the release before versions", { [`${domain}/version`]: undefined }, /^$/],
])("labels %s are told from a pod's", (_which, change, expected) => {
  const meaning = readLabels({ ...written, ...change }, owner);
  if (expected === "foreign") expect(meaning).toEqual({ kind: "foreign" });
  else if (expected.source === "^$") expect(meaning).toEqual({ kind: "pod", labels: plain });
  else expect(meaning).toMatchObject({ kind: "unreadable", why: expect.stringMatching(expected) as unknown });
});

test("a pod that is named is known also where the rest of its labels cannot be read", () => {
  expect(readLabels({ ...written, [`${domain}/containers`]: 7 }, owner)).toMatchObject({ kind: "unreadable", ref });
});

test.each([
  ["node", { NodeName: "" }],
  ["cluster", { ClusterName: 7 }],
  ["manager", { [`${domain}/managed-by`]: {} }],
])("labels that do not tell the %s name no pod that could be ended for an orphan", (_what, change) => {
  expect(readLabels({ ...written, ...change }, owner)).toEqual({
    kind: "unreadable",
    why: expect.stringMatching(/whose it is/) as unknown,
  });
});

test("whatever labels are, reading them ends with an answer, and never takes another's for the node's", () => {
  const change = fc.dictionary(fc.constantFrom(...Object.keys(written)), fc.oneof(fc.jsonValue(), fc.string()));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        change.map((each) => ({ ...written, ...each })),
      ),
      (labels) => {
        const meaning = readLabels(labels, owner);
        if (meaning.kind === "pod") expect(meaning.labels.owner).toEqual(owner);
        else expect(["foreign", "unreadable"]).toContain(meaning.kind);
      },
    ),
  );
});
