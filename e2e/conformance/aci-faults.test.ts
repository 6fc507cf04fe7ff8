import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { faultAnswers } from "../aci/fake/fault-rules.ts";
import { openAci, type OpenedAci } from "../aci/support/open-aci.ts";
import { podOf } from "../zun/support.ts";

// What goes wrong between a node and Azure, on virtual time: nothing is lost, and nothing runs twice.

const creates = { method: "PUT", path: /\/containerGroups\/[^/?]+\?/i };
const lists = { method: "GET", path: /\/containerGroups\?/i };

const webPod = (more: object = {}): Pod => podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }], ...more });

const puts = ({ azure }: OpenedAci): number => azure.calls.filter(({ method }) => method === "PUT").length;

test.for([
  ["a 500 that comes after the group was created", faultAnswers.serverError, "after"],
  ["a ServerTimeout that comes after the group was created", faultAnswers.serverTimeout, "after"],
  ["a connection that breaks after the group was created", "drop", "after"],
  ["a connection that breaks before the group was created", "drop", "before"],
  ["an answer that never comes, of a group that was created", "never", "after"],
  ["an answer that never comes, of a group that was not created", "never", "before"],
  ["an answer of a proxy in HTML, of a group that was created", faultAnswers.html, "after"],
  ["half of an answer, of a group that was created", { status: 201, body: '{"id": "/subscr' }, "after"],
] as const)("%s leads to exactly one container group", async ([, answer, when]) => {
  await using aci = await openAci();
  const pod = webPod();
  aci.azure.faults.add({ ...creates, times: 1, when, answer });
  const error = await aci.create(pod);
  if (error !== undefined) expect(await aci.create(pod)).toBeUndefined();
  await aci.untilPhase(pod, "Running");
  expect(aci.groups()).toHaveLength(1);
  expect([...aci.groups()[0]!.containers[0]!.runs]).toHaveLength(1);
  expect(puts(aci)).toBe(when === "after" ? 1 : 2);
});

test("a create that Azure never finishes leaves the pod Pending and its list alive, and the pod runs once Azure goes on", async () => {
  await using aci = await openAci();
  const [stuck, other] = [webPod(), webPod()];
  await aci.create(stuck);
  const held = aci.groups()[0]!.hold();
  await aci.create(other);
  await aci.untilPhase(other, "Running");
  await aci.clock.advance(1_200_000);
  expect(aci.phaseOf(stuck)).toBe("Pending");
  expect(aci.groups()).toHaveLength(2);
  held[Symbol.dispose]();
  await aci.untilPhase(stuck, "Running");
});

test("a list that fails or never answers makes no pod gone", async () => {
  await using aci = await openAci();
  const pod = webPod();
  await aci.create(pod);
  await aci.untilPhase(pod, "Running");
  for (const answer of [faultAnswers.serverError, faultAnswers.html, faultAnswers.garbage, "drop", "never"] as const) {
    using _fault = aci.azure.faults.add({ ...lists, answer });
    await aci.clock.advance(300_000);
    expect(aci.phaseOf(pod)).toBe("Running");
  }
});
