import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient } from "@virtual-kubelet/kube-client";
import fc from "fast-check";
import { afterAll, beforeAll, test } from "vitest";
import { userConfig, userPod } from "../test-support/pod-arbitraries.ts";
import { neededObjects, TranslationCheck } from "../test-support/translation-check.ts";

// e2e/control-plane/translation.test.ts checks the same with a real kube-apiserver.
let server: ApiServer | undefined;
let check: TranslationCheck;

beforeAll(async () => {
  const [clock, random] = [new VirtualClock(), new SeededRandom(1)];
  server = await startApiServer({ listen: false, controllers: false, serviceAccounts: true, clock, random, objects: neededObjects });
  check = new TranslationCheck(createKubeClient(server.transport()));
});
afterAll(() => server?.close());

test("an API server accepts every far pod, completes it, and then nothing is left to change", async () => {
  await fc.assert(fc.asyncProperty(userPod, userConfig, (pod, config) => check.creation(pod, config)));
});

test("a change at home reaches the far pod, once", async () => {
  await fc.assert(fc.asyncProperty(userPod, userConfig, userPod, (pod, config, other) => check.change(pod, config, other)));
});

test("a translation depends on nothing but its arguments, leaves them alone, and keeps nothing of home's placement", async () => {
  await fc.assert(fc.asyncProperty(userPod, userConfig, (pod, config) => check.purity(pod, config)));
});
