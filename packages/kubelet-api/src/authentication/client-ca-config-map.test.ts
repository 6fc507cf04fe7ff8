import { noMetrics } from "@virtual-kubelet/kube-client";
import { FakeClock, SeededRandom } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { TestAuthority } from "../test-support/test-authority.ts";
import { ClientCaConfigMap } from "./client-ca-config-map.ts";

const collection = "/api/v1/namespaces/kube-system/configmaps";
const path = `${collection}/extension-apiserver-authentication`;
const [first, second] = [new TestAuthority("first").certificate, new TestAuthority("second").certificate];

function rig() {
  const clock = new FakeClock();
  const api = new FakeApi();
  const logger = new RecordingLogger();
  const ca = new ClientCaConfigMap({ client: api.client, clock, random: new SeededRandom(1), logger, metrics: noMetrics });
  const seen: (string | undefined)[] = [];
  ca.onChange(() => seen.push(ca.current()));
  const stop = new AbortController();
  const publish = (pem: string | undefined): void =>
    api.put(collection, { metadata: { name: "extension-apiserver-authentication" }, ...{ data: { "client-ca-file": pem } } });
  return { clock, api, logger, ca, seen, stop, publish, start: () => ca.run(stop.signal) };
}

test("the published authority counts, and each one that comes in its place", async () => {
  const { api, clock, ca, seen, publish, start, stop } = rig();
  publish(first);
  const running = start();
  await ca.searched;
  expect(ca.current()).toBe(first);
  await clock.advance(0);

  publish(second);
  await clock.advance(0);

  expect(ca.current()).toBe(second);
  expect(seen).toEqual([first, second]);
  // By name only: the role that every cluster has for this allows no more.
  expect(new Set(api.requests)).toEqual(new Set([`GET ${path}`, `GET ${collection}`]));
  stop.abort();
  await running;
});

test("what cannot be used, and a map that goes, leave the authority in place", async () => {
  const { api, clock, ca, logger, publish, start } = rig();
  publish(first);
  void start();
  await clock.advance(0);

  publish("no certificate");
  await clock.advance(0);
  api.remove(path);
  await clock.advance(0);

  expect(ca.current()).toBe(first);
  expect(logger.warnings).toEqual(["the cluster's client CA cannot be read; the one before stays"]);
});

test("without the right to read it only tokens count, which is told once; the right may come later", async () => {
  const { api, clock, ca, logger, publish, start } = rig();
  publish(first);
  api.override = () => ({ status: 403, body: { kind: "Status", code: 403, message: "no" } });
  void start();
  await ca.searched;
  await clock.advance(90_000);
  expect(ca.current()).toBeUndefined();
  expect(logger.warnings).toHaveLength(1);
  expect(logger.fields[0]).toMatchObject({ reason: expect.stringContaining("extension-apiserver-authentication-reader") as string });

  api.override = undefined;
  await clock.advance(30_000);

  expect(ca.current()).toBe(first);
});
