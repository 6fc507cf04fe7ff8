import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { ForbiddenError, NotFoundError, UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import { CredentialsError, resources, silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { FakeKubeClient, notFound } from "../test-support/fake-kube-client.ts";
import { readClusterId } from "./cluster-id.ts";

class AbsentServer extends FakeKubeClient {
  isUp = false;

  override get: FakeKubeClient["get"] = async (resource, name, options) => {
    if (!this.isUp) throw new UnavailableError("connection refused");
    return super.get(resource, name, options);
  };
}

test("the cluster's id is known within seven seconds of the API server's return, however long it was away", async () => {
  const clock = new VirtualClock();
  const client = new AbsentServer(clock);
  const { metadata } = client.put(resources.namespaces, { metadata: { name: "kube-system" } });

  let id: string | undefined;
  const reading = readClusterId(client, { clock, random: new SeededRandom(1), logger: silentLogger }, new AbortController().signal);
  void reading.then((read) => (id = read));
  await clock.advance(600_000);
  client.isUp = true;
  await clock.advance(7_000);

  expect(id).toBe(metadata?.uid);
});

test("credentials that do not count are told as such, and not as an API server that is away", async () => {
  const clock = new VirtualClock();
  const client = new AbsentServer(clock);
  client.get = () => Promise.reject(new UnauthorizedError("get namespaces kube-system: Unauthorized"));
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  const stop = new AbortController();

  const reading = readClusterId(client, { clock, random: new SeededRandom(1), logger }, stop.signal);
  await clock.advance(10);
  stop.abort(new Error("enough"));

  await expect(reading).rejects.toThrow("enough");
  expect(warnings).toEqual([expect.stringContaining("the token or certificate is wrong, or has expired")]);
});

test("credentials that cannot be read are told as such, and not as an API server that refuses them", async () => {
  const clock = new VirtualClock();
  const client = new AbsentServer(clock);
  const cause = new UnauthorizedError("credential command aws: not found");
  client.get = () => Promise.reject(new CredentialsError("GET /: no credentials for the API server", { cause }));
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  const stop = new AbortController();

  const reading = readClusterId(client, { clock, random: new SeededRandom(1), logger }, stop.signal);
  await clock.advance(10);
  stop.abort(new Error("enough"));

  await expect(reading).rejects.toThrow("enough");
  expect(warnings).toEqual(["this program cannot read its own credentials for the API server; trying again"]);
});

test("an API server that is away is told as such, and not as credentials that do not count", async () => {
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  const stop = new AbortController();

  const reading = readClusterId(new AbsentServer(clock), { clock, random: new SeededRandom(1), logger }, stop.signal);
  await clock.advance(10);
  stop.abort(new Error("enough"));

  await expect(reading).rejects.toThrow("enough");
  expect(warnings).toEqual(["the API server does not answer; trying again"]);
});

test.each([new ForbiddenError("not for you"), notFound(resources.namespaces, "kube-system")])(
  "a cluster whose namespace kube-system may not be read has no id, and the user is told what that means: %s",
  async (error) => {
    const clock = new VirtualClock();
    const client = new AbsentServer(clock);
    client.get = () => Promise.reject(error);
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };

    const id = await readClusterId(client, { clock, random: new SeededRandom(1), logger }, new AbortController().signal);

    expect(id).toBe("");
    expect(warnings).toEqual([expect.stringContaining("so orphans are not deleted")]);
  },
);

test("a 404 of something that answers in the API server's place is waited out", async () => {
  const clock = new VirtualClock();
  const client = new FakeKubeClient(clock);
  const { metadata } = client.put(resources.namespaces, { metadata: { name: "kube-system" } });
  const impostor = client.intercept(() => {
    throw new NotFoundError("default backend - 404");
  });
  const reading = readClusterId(client, { clock, random: new SeededRandom(1), logger: silentLogger }, new AbortController().signal);
  await clock.advance(60_000);
  impostor[Symbol.dispose]();
  await clock.advance(7_000);

  expect(await reading).toBe(metadata?.uid);
});
