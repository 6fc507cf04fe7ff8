import { isNotFound } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { startFakeEngine } from "../test-support/fake-engine-server.ts";
import { findNetwork } from "./network-readiness.ts";

const { signal: never } = new AbortController();
const facts = { isPodman: false };

test("a network that the engine has is described", async () => {
  await using fake = await startFakeEngine({
    answers: { "GET /networks/pods": () => ({ status: 200, json: { Name: "pods", Driver: "bridge", EnableIPv6: true } }) },
  });

  await expect(findNetwork({ engine: fake.engine, facts, network: "pods", timeoutMs: 60_000 }, never)).resolves.toEqual({
    name: "pods",
    driver: "bridge",
    hasIPv6: true,
  });
});

test("a network that is gone is told in a kubelet's words, with what to do", async () => {
  const gone = { status: 404, json: { message: "network pods not found" } };
  await using fake = await startFakeEngine({ answers: { "GET /networks/pods": () => gone } });

  const error: unknown = await findNetwork({ engine: fake.engine, facts, network: "pods", timeoutMs: 60_000 }, never).catch(
    (reason: unknown) => reason,
  );

  expect(error).toSatisfy(isNotFound);
  expect(String(error)).toMatch(
    /container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: .*no network "pods"; docker network create/,
  );
});

test("what else the engine answers is no word on the network", async () => {
  await using fake = await startFakeEngine({
    answers: { "GET /networks/pods": () => ({ status: 500, json: { message: "out of order" } }) },
  });

  await expect(findNetwork({ engine: fake.engine, facts, network: "pods", timeoutMs: 60_000 }, never)).rejects.toThrow("out of order");
});

test("Podman is not asked: its bridge is none of its networks", async () => {
  await using fake = await startFakeEngine({ answers: {} });

  await findNetwork({ engine: fake.engine, facts: { isPodman: true }, network: "bridge", timeoutMs: 60_000 }, never);
  expect(fake.requests).toEqual([]);
});
