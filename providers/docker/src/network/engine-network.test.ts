import { isNotFound } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { startFakeEngine, type FakeEngine } from "../test-support/fake-engine-server.ts";
import { EngineNetwork } from "./engine-network.ts";

const { signal: never } = new AbortController();

function networkOf({ engine }: FakeEngine, network: string, isPodman = false): EngineNetwork {
  return new EngineNetwork({ engine, network, facts: () => Promise.resolve({ isPodman }) });
}

test("a network that the engine has is described", async () => {
  await using fake = await startFakeEngine({
    answers: { "GET /networks/pods": () => ({ status: 200, json: { Name: "pods", Driver: "bridge", EnableIPv6: true } }) },
  });

  await expect(networkOf(fake, "pods").find(never)).resolves.toEqual({
    name: "pods",
    driver: "bridge",
    hasIPv6: true,
  });
});

test("a network that is gone is told in a kubelet's words, with what to do", async () => {
  const gone = { status: 404, json: { message: "network pods not found" } };
  await using fake = await startFakeEngine({ answers: { "GET /networks/pods": () => gone } });

  const error: unknown = await networkOf(fake, "pods")
    .find(never)
    .catch((reason: unknown) => reason);

  expect(error).toSatisfy(isNotFound);
  expect(String(error)).toMatch(
    /container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: .*no network "pods"; docker network create/,
  );
});

test("what else the engine answers is no word on the network", async () => {
  await using fake = await startFakeEngine({
    answers: { "GET /networks/pods": () => ({ status: 500, json: { message: "out of order" } }) },
  });

  await expect(networkOf(fake, "pods").find(never)).rejects.toThrow("out of order");
});

test("Podman is not asked: its bridge is none of its networks", async () => {
  await using fake = await startFakeEngine({ answers: {} });

  await networkOf(fake, "bridge", true).find(never);
  expect(fake.requests).toEqual([]);
});
