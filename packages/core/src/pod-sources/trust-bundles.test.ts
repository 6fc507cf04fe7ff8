import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { isInvalidInput, isNotFound, isUnavailable, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, resource, silentLogger, type KubernetesObject } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { TrustBundles, type TrustAnchorsQuery } from "./trust-bundles.ts";

const { signal } = new AbortController();
const pem = (body: string): string => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
const kind = resource<KubernetesObject & { spec: object }>({
  group: "certificates.k8s.io",
  version: "v1beta1",
  plural: "clustertrustbundles",
  kind: "ClusterTrustBundle",
  namespaced: false,
});

/** Trust bundles of a Kubernetes API in memory, which has them or has not. */
class Rig implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  changes = 0;
  hasApi = true;
  readonly bundles = new TrustBundles({
    client: this.client,
    clock: this.clock,
    random: new SeededRandom(1),
    logger: silentLogger,
    metrics: noMetrics,
    onChange: () => this.changes++,
  });

  constructor() {
    this.client.onRaw(({ resource: path }) =>
      this.hasApi && path === "GET /apis/certificates.k8s.io/v1beta1" ? { resources: [{ name: "clustertrustbundles" }] } : undefined,
    );
  }

  put(name: string, body: string, signerName?: string, labels = {}): void {
    this.client.put(kind, { metadata: { name, labels }, spec: { signerName, trustBundle: pem(body) } });
  }

  anchors(query: Partial<TrustAnchorsQuery>): Promise<string> {
    return this.bundles.anchors({ optional: false, ...query }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bundles.close();
  }
}

test("one bundle is had by its name, all of a signer by labels", async () => {
  await using rig = new Rig();
  rig.put("one", "QUFB");
  rig.put("s:a", "QkJC", "example.com/s", { use: "yes" });
  rig.put("s:b", "Q0ND", "example.com/s");
  rig.put("t:a", "RERE", "example.com/t", { use: "yes" });

  expect(await rig.anchors({ name: "one" })).toBe(pem("QUFB"));
  expect(await rig.anchors({ signerName: "example.com/s", labelSelector: { matchLabels: { use: "yes" } } })).toBe(pem("QkJC"));
  expect(await rig.anchors({ signerName: "example.com/s", labelSelector: {} })).toBe(pem("Q0ND") + pem("QkJC"));
  expect(rig.client.callsOf("watch", "clustertrustbundles")).toHaveLength(1);
});

test("none at all is an error in a kubelet's words, unless it is optional", async () => {
  await using rig = new Rig();

  await expect(rig.anchors({ name: "one" })).rejects.toThrow(
    'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "one" not found',
  );
  await expect(rig.anchors({ signerName: "example.com/s", labelSelector: {} })).rejects.toThrow(
    "combination of signerName and labelSelector matched zero ClusterTrustBundles",
  );
  await expect(rig.anchors({ signerName: "example.com/s" })).rejects.toSatisfy(isNotFound);
  await expect(rig.anchors({})).rejects.toSatisfy(isInvalidInput);
  expect(await rig.anchors({ name: "one", optional: true })).toBe("");
  expect(await rig.anchors({ signerName: "example.com/s", optional: true })).toBe("");
});

test("a change is told and seen", async () => {
  await using rig = new Rig();
  rig.put("one", "QUFB");
  await rig.anchors({ name: "one" });
  const before = rig.changes;

  rig.put("one", "QkJC");
  await rig.clock.advance(0);

  expect(rig.changes).toBe(before + 1);
  expect(await rig.anchors({ name: "one" })).toBe(pem("QkJC"));
});

test("a cluster without the API has none, and is asked again after a minute", async () => {
  await using rig = new Rig();
  rig.hasApi = false;
  rig.put("one", "QUFB");

  await expect(rig.anchors({ name: "one" })).rejects.toSatisfy(isNotFound);
  expect(await rig.anchors({ name: "one", optional: true })).toBe("");
  expect(rig.client.calls.filter(({ verb }) => verb === "raw")).toHaveLength(3);

  rig.hasApi = true;
  await rig.clock.advance(60_000);
  expect(await rig.anchors({ name: "one" })).toBe(pem("QUFB"));
});

test.each(["v1", "v1beta1", "v1alpha1"])("the API is found in its version %s, and watched there", async (version) => {
  await using rig = new Rig();
  rig.hasApi = false;
  rig.client.onRaw(({ resource: path }) =>
    path === `GET /apis/certificates.k8s.io/${version}` ? { resources: [{ name: "other" }, { name: "clustertrustbundles" }] } : undefined,
  );
  rig.put("one", "QUFB");

  expect(await rig.anchors({ name: "one" })).toBe(pem("QUFB"));
});

test("a group that has no trust bundles is a cluster without them", async () => {
  await using rig = new Rig();
  rig.hasApi = false;
  rig.client.onRaw(() => ({ resources: [{ name: "certificatesigningrequests" }] }));
  rig.put("one", "QUFB");

  expect(await rig.anchors({ name: "one", optional: true })).toBe("");
  expect(rig.client.callsOf("watch", "clustertrustbundles")).toEqual([]);
});

test("a group of which nothing is listed is one as well", async () => {
  await using rig = new Rig();
  rig.hasApi = false;
  rig.client.onRaw(() => ({}));

  expect(await rig.anchors({ name: "one", optional: true })).toBe("");
});

test("an API server that cannot be asked is an error, and is asked again the next time", async () => {
  await using rig = new Rig();
  rig.put("one", "QUFB");
  const away = rig.client.intercept(() => {
    throw new UnavailableError("connection refused");
  });
  await expect(rig.anchors({ name: "one" })).rejects.toThrow("connection refused");
  away[Symbol.dispose]();

  expect(await rig.anchors({ name: "one" })).toBe(pem("QUFB"));
});

test("bundles that cannot be listed within ten seconds are an error in a kubelet's words, and not before", async () => {
  await using rig = new Rig();
  using _hang = rig.client.intercept(({ verb }) => (verb === "raw" ? undefined : new Promise(() => {})));
  let failed = false;
  const reading = rig.anchors({ name: "one" });
  reading.catch(() => (failed = true));
  await rig.clock.advance(9_999);
  expect(failed).toBe(false);
  await rig.clock.advance(1);

  await expect(reading).rejects.toThrow("ClusterTrustBundle informer has not yet synced");
  await expect(reading).rejects.toSatisfy(isUnavailable);
});

test("whoever waits for the first list can give up", async () => {
  await using rig = new Rig();
  using _hang = rig.client.intercept(({ verb }) => (verb === "raw" ? undefined : new Promise(() => {})));
  const stop = new AbortController();
  const reading = rig.bundles.anchors({ name: "one", optional: true }, stop.signal);
  await rig.clock.advance(10);
  stop.abort(new Error("stop"));

  await expect(reading).rejects.toThrow("stop");
});

test("two who ask at once share one watch, and one that is closed has ended", async () => {
  const rig = new Rig();
  rig.put("one", "QUFB");

  expect(await Promise.all([rig.anchors({ name: "one" }), rig.anchors({ name: "one" })])).toEqual([pem("QUFB"), pem("QUFB")]);
  expect(rig.client.callsOf("watch", "clustertrustbundles")).toHaveLength(1);
  await rig.bundles.close();
  expect(rig.clock.pending).toBe(0);
});

test("a bundle without content, or of no signer, is empty or nobody's", async () => {
  await using rig = new Rig();
  rig.client.put(kind, { metadata: { name: "bare" }, spec: {} });

  expect(await rig.anchors({ name: "bare" })).toBe("");
  expect(await rig.anchors({ signerName: "example.com/s", labelSelector: {}, optional: true })).toBe("");
});
