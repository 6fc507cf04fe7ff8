import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { noClientCa } from "../authentication/client-ca.ts";
import { createAccessControl, type AccessControlOptions } from "./create-access-control.ts";

const { signal } = new AbortController();
const socket = { authorized: true, getPeerCertificate: () => ({}) as never };
const attributes = { verb: "create", subresources: ["proxy"], nodeName: "vk", path: "/exec/a/b/c" };

function rig(options: Partial<AccessControlOptions> = {}) {
  const asked: string[] = [];
  const create = (resource: { plural: string }, object: object) => {
    asked.push(resource.plural);
    const status = resource.plural === "tokenreviews" ? { authenticated: true, user: { username: "bob" } } : { allowed: false };
    return Promise.resolve({ ...object, status });
  };
  const client = { create } as unknown as AccessControlOptions["client"];
  const common = { client, clock: new VirtualClock(), random: new SeededRandom(1), metrics: noMetrics, lifetime: signal };
  return { asked, control: createAccessControl({ clientCa: noClientCa, ...common, ...options }) };
}

test("by default, callers authenticate by token, the API server authorizes them, and nobody else is admitted", async () => {
  const { asked, control } = rig();

  expect(await control.authenticate({ headers: {}, socket }, signal)).toBeUndefined();
  const user = await control.authenticate({ headers: { authorization: "Bearer t" }, socket }, signal);
  expect(user?.name).toBe("bob");
  expect(await control.authorize(user ?? { name: "", groups: [] }, attributes, signal)).toMatchObject({ allowed: false });
  expect(asked).toEqual(["tokenreviews", "subjectaccessreviews"]);
});

test("AlwaysAllow sends no access review, but still authenticates the caller", async () => {
  const { asked, control } = rig({ authorizationMode: "AlwaysAllow" });

  expect(await control.authenticate({ headers: {}, socket }, signal)).toBeUndefined();
  expect(await control.authorize({ name: "bob", groups: [] }, attributes, signal)).toEqual({ allowed: true });
  expect(asked).toEqual([]);
});

test("if tokens are not accepted, the API server is not asked about a token", async () => {
  const { asked, control } = rig({ tokens: false });

  expect(await control.authenticate({ headers: { authorization: "Bearer t" }, socket }, signal)).toBeUndefined();
  expect(asked).toEqual([]);
});

test("a request without credentials is anonymous if that is allowed", async () => {
  const { control } = rig({ anonymous: true });
  const shown = { authorized: false, getPeerCertificate: () => ({}) as never };

  expect(await control.authenticate({ headers: {}, socket: shown }, signal)).toEqual({
    name: "system:anonymous",
    groups: ["system:unauthenticated"],
  });
});

test("the results of reviews are cached for the configured times", async () => {
  const clock = new VirtualClock();
  const { asked, control } = rig({ clock, tokenTtlMs: 1_000, deniedTtlMs: 2_000 });
  const user = { name: "bob", groups: [] };
  const ask = async (): Promise<void> => {
    await control.authenticate({ headers: { authorization: "Bearer t" }, socket }, signal);
    await control.authorize(user, attributes, signal);
  };

  await ask();
  await clock.advance(1_000);
  await ask();
  expect(asked).toEqual(["tokenreviews", "subjectaccessreviews", "tokenreviews"]);
  await clock.advance(1_000);
  await ask();

  expect(asked).toEqual(["tokenreviews", "subjectaccessreviews", "tokenreviews", "tokenreviews", "subjectaccessreviews"]);
});
