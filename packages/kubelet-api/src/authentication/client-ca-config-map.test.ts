import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics } from "@virtual-kubelet/kube-client";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { expect, test } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { ClientCaConfigMap } from "./client-ca-config-map.ts";

const collection = "/api/v1/namespaces/kube-system/configmaps";
const path = `${collection}/extension-apiserver-authentication`;
const [first, second] = [createCertificateAuthority("first").certificate, createCertificateAuthority("second").certificate];

function rig() {
  const clock = new VirtualClock();
  const api = new FakeApi();
  const logger = new RecordingLogger();
  const ca = new ClientCaConfigMap({ client: api.client, clock, random: new SeededRandom(1), logger, metrics: noMetrics });
  const seen: (string | undefined)[] = [];
  ca.onChange(() => seen.push(ca.current()));
  const stop = new AbortController();
  const publish = (pem: string | undefined): void =>
    api.put(collection, {
      metadata: { namespace: "kube-system", name: "extension-apiserver-authentication" },
      ...{ data: { "client-ca-file": pem } },
    });
  return { clock, api, logger, ca, seen, stop, publish, start: () => ca.run(stop.signal) };
}

test("the published CA is used, and so is each CA that replaces it", async () => {
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
  // Only requests by name: the Role that every cluster has does not allow others.
  expect(new Set(api.requests)).toEqual(new Set([`GET ${path}`, `GET ${collection}`]));
  stop.abort();
  await running;
});

test("an invalid or deleted config map leaves the CA in place", async () => {
  const { api, clock, ca, logger, publish, start } = rig();
  publish(first);
  void start();
  await clock.advance(0);

  publish("no certificate");
  await clock.advance(0);
  api.remove(path);
  await clock.advance(0);

  expect(ca.current()).toBe(first);
  expect(logger.warnings).toEqual(["the cluster's client CA cannot be read; the previous one stays in use"]);
});

test("without permission to read the config map only tokens are accepted, which is logged once; permission may be granted later", async () => {
  const { api, clock, ca, logger, publish, start } = rig();
  publish(first);
  api.override = () => ({ status: 403, body: { kind: "Status", code: 403, message: "no" } });
  void start();
  await ca.searched;
  await clock.advance(90_000);
  expect(ca.current()).toBeUndefined();
  expect(logger.warnings).toHaveLength(1);
  expect(logger.fields[0]).toMatchObject({
    reason: expect.stringContaining(
      "get configmaps kube-system/extension-apiserver-authentication: no; virtual-kubelet manifests rbac prints",
    ) as string,
  });

  api.override = undefined;
  await clock.advance(30_000);

  expect(ca.current()).toBe(first);
});

test("the log reports the first CA and each change", async () => {
  const { clock, logger, publish, start } = rig();
  publish(first);
  void start();
  await clock.advance(0);
  publish(second);
  await clock.advance(0);

  // The reflector writes lines of its own.
  expect(logger.lines.filter((line) => line.includes("client CA"))).toEqual(["info found the client CA", "info the client CA has changed"]);
  expect(logger.fields.filter((fields) => "configMap" in fields)).toEqual(
    Array.from({ length: 2 }, () => ({ configMap: "kube-system/extension-apiserver-authentication" })),
  );
});

test("the same content is not reported as a change", async () => {
  const { clock, seen, publish, start } = rig();
  publish(first);
  void start();
  await clock.advance(0);
  publish(first);
  await clock.advance(0);

  expect(seen).toEqual([first]);
});

test.each([
  ["there is none", 404, "NotFound", "it does not exist; configure a file with the CA"],
  ["the server says so", 400, "BadRequest", "what is that"],
])("the log says why there is no CA: %s", async (_what, code, reason, text) => {
  const { api, ca, logger, start } = rig();
  api.override = () => ({ status: code, body: { kind: "Status", code, reason, message: "what is that" } });
  void start();
  await ca.searched;

  expect(logger.fields[0]).toEqual({
    configMap: "kube-system/extension-apiserver-authentication",
    reason: expect.stringContaining(text),
  });
  expect(logger.warnings).toEqual([expect.stringContaining("the cluster's client CA cannot be read: callers can authenticate")]);
});

test("a config map without a CA, or with an invalid one, is logged once, and again after a valid one", async () => {
  const { clock, ca, logger, publish, start } = rig();
  publish(undefined);
  void start();
  await clock.advance(0);
  expect(ca.current()).toBeUndefined();
  publish("broken");
  await clock.advance(0);
  expect(logger.warnings).toHaveLength(1);
  expect(logger.fields[0]).toMatchObject({
    reason: "its client-ca-file is invalid: read a CA bundle: it has no PEM block CERTIFICATE",
  });

  publish(first);
  await clock.advance(0);
  publish("broken");
  await clock.advance(0);

  expect(logger.warnings).toHaveLength(2);
  expect(ca.current()).toBe(first);
});

test("a config map that is created later is found within half a minute", async () => {
  const { api, clock, ca, publish, start } = rig();
  void start();
  await ca.searched;
  publish(first);
  await clock.advance(29_999);
  expect([ca.current(), api.requests.length]).toEqual([undefined, 1]);

  await clock.advance(1);

  expect(ca.current()).toBe(first);
});

test("aborting during the search ends it without an error", async () => {
  const { clock, ca, stop, start } = rig();
  const running = start();
  await ca.searched;

  stop.abort();
  await running;

  expect(clock.pending).toBe(0);
});

test("aborting before the search does not wait for it", async () => {
  const { api, ca, logger, stop, start } = rig();
  stop.abort();
  await start();
  await ca.searched;

  expect([logger.lines, api.requests.length <= 1]).toEqual([[], true]);
});
