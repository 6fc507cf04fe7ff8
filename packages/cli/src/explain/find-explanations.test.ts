import { expect, test } from "vitest";
import { allExplanations } from "./all-explanations.ts";
import type { Explanation } from "./explanation.ts";
import { findExplanations, firstOfEachList, nearestName } from "./find-explanations.ts";

const all = allExplanations([
  {
    name: "acme",
    capabilities: { hostNetwork: true },
    reasons: { AcmeAway: { on: ["podEvent"], meaning: "Acme is away.", remedy: "Wait." } },
    conditions: { "acme.example.com/Rocket": { on: "node", meaning: "Whether the rocket is fuelled.", remedy: "Fuel it." } },
    policy: () => ({}),
  },
  { name: "other", capabilities: {}, reasons: { AcmeAway: { on: ["podEvent"], meaning: "Something else.", remedy: "Wait." } } },
]);

function namesOf(written: string): readonly string[] {
  return findExplanations(written, all).map(({ name }) => name);
}

test.for<[written: string, names: readonly string[]]>([
  ["VK_TERMINAL", ["VK_TERMINAL"]],
  ["providerlost", ["ProviderLost"]],
  [" 78 ", ["78"]],
  ["OutOfcpu", ["OutOf*"]],
  ["OutOfnvidia.com/gpu", ["OutOf*"]],
  ["OutOf*", ["OutOf*"]],
  ["spec.hostNetwork", ["spec.hostNetwork"]],
  ["hostnetwork", ["spec.hostNetwork"]],
  ["spec.containers[2].livenessProbe", ["spec.containers[*].livenessProbe"]],
  ["spec.containers.livenessProbe", ["spec.containers[*].livenessProbe"]],
  ["spec.initContainers[0].livenessProbe", ["spec.initContainers[*].livenessProbe"]],
  ["livenessProbe", ["spec.containers[*].livenessProbe"]],
  ["spec.containers[0].livenessProbe.httpGet.path", ["spec.containers[*].livenessProbe"]],
  ["spec.initContainers[1].image", ["spec.initContainers[*]"]],
  ["spec.containers[1].image", []],
  ["spec.volumes[3].nfs.server", ["spec.volumes[*].nfs"]],
  ["runAsUser", ["spec.containers[*].securityContext.runAsUser", "spec.securityContext.runAsUser"]],
  ["AcmeAway", ["AcmeAway", "AcmeAway"]],
  ["acme.example.com/Rocket", ["acme.example.com/Rocket"]],
  ["rocket", ["acme.example.com/Rocket"]],
  ["ProviderAvailable", ["ProviderAvailable"]],
  ["OutOf", []],
  ["NoSuchThing", []],
  ["", []],
])("%j is found as %j", ([written, names]) => {
  expect(namesOf(written)).toEqual(names);
});

test.for([
  ["CrashLopBackOff", "CrashLoopBackOff"],
  ["VK_TERMINL", "VK_TERMINAL"],
  ["livenesProbe", "livenessProbe"],
  ["spec.containers[0].livenesProbe", "spec.containers[*].livenessProbe"],
  ["spec.hostNetwrk", "spec.hostNetwork"],
  ["spec.containers[0].image", undefined],
  ["Rockt", "Rocket"],
  ["acme.example.com/Rockt", "Rocket"],
  ["zzzzzzzz", undefined],
] as const)("the nearest name of %s is %s", ([written, name]) => {
  expect(nearestName(written, all)).toBe(name);
});

test("a reason that two providers explain differently is explained twice, by whom it is written", () => {
  expect(findExplanations("AcmeAway", all).map(({ writtenBy, meaning }) => [writtenBy, meaning])).toEqual([
    [["acme"], "Acme is away."],
    [["other"], "Something else."],
  ]);
});

test("a field names the providers that support it, those whose policy judges it, and how to go without it", () => {
  const [field] = findExplanations("spec.hostNetwork", all);

  expect(field?.meaning).toBe(
    "Asks for the host's network. Supported by acme (capability hostNetwork), not by other. The policy of acme decides whether it is allowed: policy.hostNetwork.",
  );
  expect(field?.remedy).toContain('`onUnsupported: { ignore: ["spec.hostNetwork"] }`');
});

test("a field that nobody supports, and that cannot be left out, says so", () => {
  const [field] = findExplanations("spec.volumes[0].nfs", all);

  expect(field?.meaning).toBe("Asks for volumes of type nfs. Supported by no provider here (capability volumes), not by acme, other.");
  expect(field?.remedy).toBe("Remove the field, or use a provider that supports it.");
});

test("every explanation says what it means, where it is, and what to do, in sentences", () => {
  const isSentence = (text: string): boolean => /^[A-Z`].*[.…]$/.test(text);
  const wrong = (one: Explanation): boolean => one.where.length === 0 || !isSentence(one.meaning) || !isSentence(one.remedy);

  expect(all.filter(wrong).map(({ name }) => name)).toEqual([]);
});

test("a field of every kind of container is listed once", () => {
  const names = firstOfEachList(all.filter(({ kind }) => kind === "field")).map(({ name }) => name);

  expect(names.filter((name) => name.endsWith(".livenessProbe"))).toEqual(["spec.containers[*].livenessProbe"]);
  expect(names).toContain("spec.initContainers[*]");
});
