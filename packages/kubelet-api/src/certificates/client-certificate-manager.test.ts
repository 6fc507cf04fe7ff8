import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { createCertificateAuthority, parseCertificateRequest } from "@virtual-kubelet/pki";
import { afterEach, expect, test, vi } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { MemoryCertificateStore } from "../test-support/memory-certificate-store.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { RecordingMetrics } from "../test-support/recording-metrics.ts";
import { openClientCertificateManager } from "./client-certificate-manager.ts";
import { certificateOf } from "./key-pair.ts";

const hour = 3_600_000;
const day = 24 * hour;
const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const authority = createCertificateAuthority("test-ca");
const errorMetric = "kubelet_certificate_manager_client_expiration_renew_errors";
let stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

interface Given {
  readonly store?: MemoryCertificateStore;
  readonly api?: FakeApi;
  readonly clock?: VirtualClock;
  /** How many of its hundred days have passed for the first certificate. Default: 90, so it is due for renewal. */
  readonly ageDays?: number;
  readonly commonName?: string;
  readonly onRotated?: () => Promise<void>;
}

async function rig(given: Given = {}) {
  const { api = new FakeApi(), clock = new VirtualClock(), commonName = "system:node:vk", ageDays = 90 } = given;
  const store = given.store ?? new MemoryCertificateStore();
  const bornMs = clock.now() - ageDays * day;
  const validity = { notBeforeMs: bornMs, notAfterMs: bornMs + 100 * day };
  const first = authority.issue({ commonName, organizations: ["system:nodes"], usages: ["client auth"], validity });
  if (!store.stored.issued) store.stored = { issued: first };
  const logger = new RecordingLogger();
  const metrics = new RecordingMetrics();
  const rotated = vi.fn(given.onRotated ?? (() => Promise.resolve()));
  const manager = await openClientCertificateManager({
    nodeName: "vk",
    store,
    client: api.client,
    clock,
    random: new SeededRandom(1),
    logger,
    metrics,
    onRotated: rotated,
  });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  running.catch(() => {});
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  stops.push(end);
  return { api, clock, end, first, logger, manager, metrics, rotated, store };
}

/** Keys are created in real time, which the fake clock does not include. */
const soon = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 30_000, interval: 5 });

const requests = (api: FakeApi): CertificateSigningRequest[] => api.created as CertificateSigningRequest[];

/** Signs the last request, as happens after an approval. */
function approve(api: FakeApi, clock: VirtualClock, { lifetimeMs = 100 * day, fromMs = clock.now() } = {}): void {
  const request = parseCertificateRequest(Buffer.from(requests(api).at(-1)?.spec.request ?? "", "base64").toString());
  const validity = { notBeforeMs: fromMs, notAfterMs: fromMs + lifetimeMs };
  decide(api, { certificate: Buffer.from(authority.sign(request, { usages: ["client auth"], validity })).toString("base64") });
}

function decide(api: FakeApi, status: CertificateSigningRequest["status"]): void {
  const { metadata } = requests(api).at(-1) ?? {};
  api.put(collection, { ...api.get(`${collection}/${metadata?.name ?? ""}`), ...{ status } });
}

test("nothing is requested while less than 70 % of the certificate's life has passed", async () => {
  const { api, clock, metrics } = await rig({ ageDays: 69 });

  await clock.advance(hour);

  expect(requests(api)).toEqual([]);
  expect(metrics.samples.at(-1)).toBe(`kubelet_certificate_manager_client_ttl_seconds ${(31 * day - hour) / 1000}`);
});

test("the certificate is requested again when 90 % of its life has passed, with a new key and the subject of the node", async () => {
  const { api, store, first } = await rig();

  await soon(() => expect(store.stored.pending).toBeDefined());
  expect(requests(api)).toHaveLength(1);
  expect(requests(api)[0]?.spec).toMatchObject({
    signerName: "kubernetes.io/kube-apiserver-client-kubelet",
    usages: ["digital signature", "client auth"],
  });
  const request = parseCertificateRequest(Buffer.from(requests(api)[0]?.spec.request ?? "", "base64").toString());
  expect(request).toMatchObject({ commonName: "system:node:vk", organizations: ["system:nodes"] });
  expect(store.stored.pending?.key).not.toBe(first.key);
  expect(store.stored.issued).toEqual(first);
});

test("the signed certificate is saved with its key before connections use it", async () => {
  const saved: unknown[] = [];
  const store = new MemoryCertificateStore();
  const { api, clock, rotated, logger, first } = await rig({
    store,
    onRotated: () => Promise.resolve(void saved.push(store.stored.issued)),
  });
  await soon(() => expect(store.stored.pending).toBeDefined());

  approve(api, clock);

  await soon(() => expect(rotated).toHaveBeenCalledOnce());
  expect(saved).toEqual([store.stored.issued]);
  expect(store.stored.issued?.certificate).not.toBe(first.certificate);
  expect(store.stored.pending).toBeUndefined();
  expect(logger.lines).toContain("info the client certificate was renewed");
  await clock.advance(hour);
  expect(requests(api)).toHaveLength(1);
});

test("a pending request is followed after a restart", async () => {
  const before = await rig();
  await soon(() => expect(before.store.stored.pending).toBeDefined());
  await before.end();

  const { api, clock, rotated } = await rig(before);
  await clock.advance(5_000);
  approve(api, clock);

  await soon(() => expect(rotated).toHaveBeenCalledOnce());
  expect(requests(api)).toHaveLength(1);
});

test("a request whose certificate is saved already is not followed again", async () => {
  const store = new MemoryCertificateStore();
  const { first } = await rig({ store, ageDays: 10 });
  store.stored = {
    issued: first,
    pending: { name: "csr", uid: "u", key: first.key, names: { dnsNames: [], ips: [] }, madeMs: 0 },
  };

  const { api, clock } = await rig({ store, ageDays: 10 });
  await clock.advance(60_000);

  expect(api.requests).toEqual([]);
});

test("a denied request is logged and counted, and repeated half an hour later at the earliest", async () => {
  const { api, clock, logger, metrics, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());

  decide(api, { conditions: [{ type: "Denied", status: "True", reason: "No" }] });

  await soon(() => expect(store.stored.pending).toBeUndefined());
  expect(logger.warnings).toEqual(["the request for a client certificate was refused; the current certificate stays in use"]);
  expect(metrics.samples.filter((sample) => sample === errorMetric)).toHaveLength(1);
  await clock.advance(10 * 60_000);
  expect(requests(api)).toHaveLength(1);
  await clock.advance(2 * hour);
  await soon(() => expect(requests(api)).toHaveLength(2));
});

test("a certificate of another user is not used", async () => {
  const { api, first, logger, rotated, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());
  const other = authority.issue({ commonName: "system:node:other", organizations: ["system:nodes"], usages: ["client auth"] });

  decide(api, { certificate: Buffer.from(other.certificate).toString("base64") });

  await soon(() => expect(logger.lines).toContain("error the certificate from the cluster's signer cannot be used"));
  await soon(() => expect(store.stored.pending).toBeUndefined());
  expect(store.stored.issued).toEqual(first);
  expect(rotated).not.toHaveBeenCalled();
});

test("a certificate that is not valid by this machine's clock does not replace one that is", async () => {
  const { api, clock, first, logger, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());

  approve(api, clock, { fromMs: clock.now() + hour });

  await soon(() => expect(store.stored.pending).toBeUndefined());
  expect(store.stored.issued).toEqual(first);
  expect(logger.warnings[0]).toContain("is not valid yet by this machine's clock");
});

test("a certificate that is due for renewal at once is used, and does not cause an endless series of requests", async () => {
  const { api, clock, rotated, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());

  approve(api, clock, { fromMs: clock.now() - 90 * day });

  await soon(() => expect(rotated).toHaveBeenCalledOnce());
  await clock.advance(10 * 60_000);
  expect(requests(api)).toHaveLength(1);
});

test("a certificate that cannot be written is not lost: writing is tried until it succeeds", async () => {
  const { api, clock, first, logger, rotated, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());
  store.problem = new Error("no space left");
  approve(api, clock);
  await soon(() => expect(logger.lines.join("\n")).toContain("cannot save the new client certificate"));
  expect(rotated).not.toHaveBeenCalled();

  store.problem = undefined;
  await clock.advance(5_000);

  await soon(() => expect(rotated).toHaveBeenCalledOnce());
  expect(store.stored.issued?.certificate).not.toBe(first.certificate);
  expect(requests(api)).toHaveLength(1);
});

test("without permission to create requests, attempts are counted, and become less frequent", async () => {
  const api = new FakeApi();
  api.override = (method) => (method === "POST" ? { status: 403, body: { kind: "Status", code: 403, reason: "Forbidden" } } : undefined);
  const { clock, logger, metrics } = await rig({ api });

  await soon(() => expect(logger.warnings).toHaveLength(1));
  for (let minute = 0; minute < 60; minute++) await clock.advance(60_000);

  const failures = metrics.samples.filter((sample) => sample === errorMetric).length;
  expect(failures).toBeGreaterThan(3);
  expect(failures).toBeLessThan(20);
  expect(logger.warnings).toEqual(["cannot request a client certificate from the cluster; the current one stays in use; will retry"]);
});

test("the end of the certificate's validity is logged once, with the command that helps", async () => {
  const { api, clock, logger, metrics } = await rig({ ageDays: 99 });
  api.override = () => ({ status: 401, body: { kind: "Status", code: 401, reason: "Unauthorized" } });

  for (let passed = 0; passed < 25; passed++) await clock.advance(hour);

  expect(logger.lines.filter((line) => line.startsWith("error "))).toEqual([
    "error the client certificate has expired, so the API server refuses this node: join the cluster again with virtual-kubelet join",
  ]);
  expect(metrics.samples.at(-1)).toBe(`kubelet_certificate_manager_client_ttl_seconds -${hour / 1000}`);
});

test("the certificate of another node is refused at the start", async () => {
  await expect(rig({ commonName: "system:node:other" })).rejects.toThrow(
    "read the client certificate of node vk: it is that of system:node:other, groups system:nodes; expected system:node:vk, group system:nodes",
  );
});

test("an error of the connections is logged, since they read the file themselves", async () => {
  const { api, clock, logger, store } = await rig({ onRotated: () => Promise.reject(new Error("no")) });
  await soon(() => expect(store.stored.pending).toBeDefined());

  approve(api, clock);

  await soon(() =>
    expect(logger.warnings).toEqual(["the new client certificate is not in use yet; its file is read again within a minute"]),
  );
  expect(certificateOf(store.stored.issued ?? { certificate: "", key: "" }).subject).toContain("CN=system:node:vk");
});
