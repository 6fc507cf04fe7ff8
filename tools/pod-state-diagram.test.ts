import { expect, test } from "vitest";
import { podTransitions, renderPodStates } from "./pod-state-diagram.ts";

const transitions = podTransitions();
const waysFrom = (from: string): string[] => [...(transitions.get(from)?.keys() ?? [])].sort();

test("every state of a pod at the back end is reached, and left", () => {
  const states = ["absent", "ending", "gone", "present", "unknown"];

  expect([...transitions.keys()].sort()).toEqual(["[*]", ...states]);
  for (const state of states) expect(waysFrom(state)).not.toEqual([]);
});

test("what is found is what pod-step does: a pod is created only where the provider holds none, and forgotten only where nothing is left", () => {
  const causes = [...transitions].flatMap(([from, ways]) =>
    [...ways].flatMap(([to, labels]) => [...labels].map((label) => ({ from, to, label }))),
  );

  expect(causes.filter(({ label }) => label === "createPod is called").map(({ from }) => from)).toEqual(["absent"]);
  expect(causes.filter(({ to }) => to === "[*]").map(({ from }) => from)).toEqual(expect.arrayContaining(["absent", "gone"]));
  expect(causes.filter(({ to }) => to === "[*]")).toHaveLength(2);
  expect(causes.filter(({ from, to }) => from === "ending" && to === "absent")).toEqual([]);
});

test("the diagram has a line for each way, and says once what does not depend on the provider's word", () => {
  const diagram = renderPodStates();

  expect(diagram.split("\n").filter((line) => line.includes("-->"))).toHaveLength(
    [...transitions.values()].reduce((sum, ways) => sum + ways.size, 0),
  );
  expect(diagram).toContain("absent --> unknown: createPod is called");
  expect(diagram).toMatch(/absent --> present: reported$/m);
});
