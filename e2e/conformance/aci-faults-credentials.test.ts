import { podRef, type Pod } from "@virtual-kubelet/core";
import { isUnauthorized } from "@virtual-kubelet/errdefs";
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { faultAnswers } from "../aci/fake/fault-rules.ts";
import { openAci, type OpenedAci } from "../aci/support/open-aci.ts";
import { podOf } from "../zun/support.ts";

// Credentials and tokens that end while pods run, on virtual time.

const { signal } = new AbortController();
const signIns = { method: "POST", path: /\/oauth2\// };
const script = (): object => ({ exit: { afterMs: 7_200_000, exitCode: 4 } });

async function running(aci: OpenedAci): Promise<Pod> {
  const pod = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }] });
  expect(await aci.create(pod)).toBeUndefined();
  await aci.untilPhase(pod, "Running");
  return pod;
}

const refusedCalls = ({ azure }: OpenedAci): number => azure.calls.filter(({ status }) => status === 401).length;

test("a token that ends is replaced by one sign-in for all requests, and nothing is lost", async () => {
  await using aci = await openAci({ script });
  const pods = await Promise.all(Array.from({ length: 3 }, async () => podOf({ containers: [{ name: "web", image: "nginx" }] })));
  for (const pod of pods) await aci.create(pod);
  const before = aci.azure.tokens.grants.length;
  aci.azure.tokens.revokeAll();
  const looks = await Promise.all(pods.map((pod) => aci.provider.getPodStatus(podRef(pod), signal)));
  expect(looks).toHaveLength(3);
  expect(aci.azure.tokens.grants.length - before).toBe(1);
  expect(refusedCalls(aci)).toBeLessThanOrEqual(3);
});

test("a create whose token has just ended makes exactly one container group", async () => {
  await using aci = await openAci();
  aci.azure.tokens.revokeAll();
  const pod = await running(aci);
  expect([aci.groups().length, refusedCalls(aci) > 0, aci.phaseOf(pod)]).toEqual([1, true, "Running"]);
});

test("a secret that is rotated while pods run makes no pod gone, and the new one is used as soon as it is there", async () => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  const { tokens } = aci.azure;
  tokens.credentials = { ...tokens.credentials, clientSecret: "rotated-secret-of-the-fake" };
  tokens.revokeAll();
  await aci.clock.advance(1_800_000);
  const waiting = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }] });
  const refused = await aci.create(waiting);
  expect([aci.phaseOf(pod), isUnauthorized(refused), aci.groups().length]).toEqual(["Running", true, 1]);
  writeFileSync(aci.program.secretFile, "rotated-secret-of-the-fake\n");
  expect(await aci.create(waiting)).toBeUndefined();
  await aci.untilPhase(waiting, "Running");
  await aci.clock.runUntil(() => aci.phaseOf(pod) === "Failed", { withinMs: 7_200_000 });
  const last = aci.updates.findLast(({ ref }) => ref.uid === podRef(pod).uid);
  expect(last && "status" in last && last.status.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4);
});

test.for([
  ["answers with a 500", faultAnswers.serverError],
  ["answers with a page in HTML", { status: 200, headers: { "content-type": "text/html" }, body: "<html>" }],
  ["answers with nothing", { status: 200, body: {} }],
  ["breaks the connection", "drop"],
  ["does not answer", "never"],
] as const)("while the token service %s no pod is gone, and afterwards all goes on", async ([, answer]) => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  const fault = aci.azure.faults.add({ ...signIns, answer });
  aci.azure.tokens.revokeAll();
  await aci.clock.advance(900_000);
  expect(aci.phaseOf(pod)).toBe("Running");
  fault[Symbol.dispose]();
  await aci.clock.runUntil(() => aci.phaseOf(pod) === "Failed", { withinMs: 7_200_000 });
  expect(aci.groups()).toHaveLength(1);
});

test.for([
  ["401", "InvalidAuthenticationToken"],
  ["403", "AuthorizationFailed"],
] as const)("lists and looks that are refused with %s make no pod gone", async ([status, code]) => {
  await using aci = await openAci({ script });
  const pod = await running(aci);
  aci.azure.faults.add({ path: /\/containerGroups/i, answer: { status: Number(status), body: { error: { code, message: "Refused." } } } });
  await aci.clock.advance(1_800_000);
  expect([aci.phaseOf(pod), aci.groups().length]).toEqual(["Running", 1]);
});
