import { isForbidden, isNotFound } from "@virtual-kubelet/errdefs";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { sharedApi } from "./support/docker-engine.ts";
import { registryUser } from "./support/local-registry.ts";
import { forgetImage, pushImage, type PushedImage } from "./support/pushed-image.ts";
import { RuntimeRig } from "./support/runtime-rig.ts";

const api = sharedApi();
const { signal: never } = new AbortController();
const wrong = { username: registryUser.username, password: "wrong" };
const repo = `${inject("registry")}/team/app`;
let rig: RuntimeRig;
let image: PushedImage;

beforeAll(async () => {
  rig = await RuntimeRig.open("pulls");
  image = await pushImage(api, "busybox-user:1.37", "team/app");
});

beforeEach(() => forgetImage(api, repo));

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await forgetImage(api, repo);
});

test("an image is pulled with credentials, and its digest and user are known", async () => {
  await expect(rig.runtime.inspectImage(image.name, never)).rejects.toSatisfy(isNotFound);

  const pulled = await rig.runtime.pullImage(image.name, [registryUser], never);

  expect(pulled).toMatchObject({ id: image.digest, user: "app" });
  expect(pulled.sizeBytes).toBeGreaterThan(1_000_000);
  expect(await rig.runtime.inspectImage(image.name, never)).toEqual(pulled);
});

test("an image is pulled by its digest", async () => {
  expect(await rig.runtime.pullImage(image.digest, [registryUser], never)).toMatchObject({ id: image.digest });
});

test("several credentials are tried one after another", async () => {
  expect(await rig.runtime.pullImage(image.name, [wrong, registryUser], never)).toMatchObject({ id: image.digest });
});

test.for([
  ["no credentials", []],
  ["wrong ones", [wrong]],
] as const)("with %s a pull is forbidden, and the error contains no password", async ([, credentials]) => {
  const error: unknown = await rig.runtime.pullImage(image.name, credentials, never).catch((reason: unknown) => reason);

  expect(error).toSatisfy(isForbidden);
  expect(String(error)).toContain(image.name);
  expect(String(error)).not.toMatch(/wrong|registry-password/);
});

test("a missing tag and a missing repository are not found", async () => {
  await expect(rig.runtime.pullImage(`${repo}:2`, [registryUser], never)).rejects.toSatisfy(isNotFound);
  await expect(rig.runtime.pullImage(`${inject("registry")}/team/other:1`, [registryUser], never)).rejects.toSatisfy(isNotFound);
});

test("many pods share one pull of an image, and the abort of one does not affect the others", async () => {
  const controller = new AbortController();
  const aborted = rig.runtime.pullImage(image.name, [registryUser], controller.signal).catch((reason: unknown) => reason);
  const others = Array.from({ length: 10 }, () => rig.runtime.pullImage(image.name, [registryUser], never));
  const reason = new Error("the pod is gone");
  controller.abort(reason);

  expect(await aborted).toBe(reason);
  for (const pulled of await Promise.all(others)) expect(pulled.id).toBe(image.digest);
});

test("a container runs with the pulled image", async () => {
  const { id: imageId } = await rig.runtime.pullImage(image.name, [registryUser], never);
  const pod = rig.pod("pulled", { containers: [{ name: "app", image: image.name }] });
  const sandbox = await rig.sandbox(pod);
  const id = await rig.run(sandbox.id, rig.containerSpec(pod, { imageId }));

  expect(await rig.runtime.inspectContainer(id, never)).toMatchObject({ imageId: image.digest, state: { kind: "running" } });
  await rig.runtime.removeSandbox(sandbox.id, never);
});
