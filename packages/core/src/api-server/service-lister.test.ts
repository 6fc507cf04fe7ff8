import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics, resources, silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { ServiceLister } from "./service-lister.ts";

const { signal } = new AbortController();

function lister(): { services: ServiceLister; client: FakeKubeClient; clock: VirtualClock } {
  const clock = new VirtualClock();
  const client = new FakeKubeClient(clock);
  const services = new ServiceLister({ client, clock, random: new SeededRandom(1), logger: silentLogger, metrics: noMetrics });
  return { services, client, clock };
}

test("nothing is watched before anybody asks, and one watch serves all who do", async () => {
  const { services, client, clock } = lister();
  client.put(resources.services, { metadata: { namespace: "shop", name: "web" } });
  client.put(resources.services, { metadata: { namespace: "default", name: "kubernetes" } });
  await clock.advance(10);
  expect(client.calls).toEqual([]);

  const reading = Promise.all([services.list("shop", signal), services.list("default", signal)]);
  await clock.advance(10);
  const [shop, others] = await reading;

  expect([shop, others].map((list) => list?.map(({ metadata }) => metadata?.name))).toEqual([["web"], ["kubernetes"]]);
  expect(client.callsOf("watch", "services")).toHaveLength(1);
  await services.close();
});

test("a service that came later is listed without another request", async () => {
  const { services, client, clock } = lister();
  const first = services.list("shop", signal);
  await clock.advance(10);
  expect(await first).toEqual([]);
  const requests = client.calls.length;

  client.put(resources.services, { metadata: { namespace: "shop", name: "web" } });
  await clock.advance(10);

  expect((await services.list("shop", signal)).map(({ metadata }) => metadata?.name)).toEqual(["web"]);
  expect(client.calls).toHaveLength(requests);
  await services.close();
});

test("whoever waits for the first list can give up, and closing ends the watch", async () => {
  const { services, client, clock } = lister();
  using _hang = client.intercept(() => new Promise(() => {}));
  const stop = new AbortController();
  const reading = services.list("shop", stop.signal);
  await clock.advance(10);

  stop.abort(new Error("stop"));
  await expect(reading).rejects.toThrow("stop");
  await services.close();

  expect(clock.pending).toBe(0);
});

test("closing what was never asked does nothing", async () => {
  await expect(lister().services.close()).resolves.toBeUndefined();
});
