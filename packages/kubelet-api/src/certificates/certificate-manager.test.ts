import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { createCertificateAuthority, createCertificateRequest, generateKey, parseCertificateRequest } from "@virtual-kubelet/pki";
import { createPublicKey } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { MemoryCertificateStore } from "../test-support/memory-certificate-store.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { RecordingMetrics, ScrapedMetrics } from "../test-support/recording-metrics.ts";
import { openCertificateManager } from "./certificate-manager.ts";
import { certificateOf } from "./key-pair.ts";
import type { ServingNames } from "./serving-names.ts";

const day = 86_400_000;
const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const authority = createCertificateAuthority("test-ca");
const home: ServingNames = { dnsNames: [], ips: ["10.0.0.1"] };
let stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

interface Given {
  readonly bootstrap?: boolean;
  readonly names?: ServingNames | undefined;
  readonly store?: MemoryCertificateStore;
  readonly api?: FakeApi;
  readonly clock?: VirtualClock;
  readonly metrics?: RecordingMetrics;
  /** Replaces the function that returns the node's names. */
  readonly failing?: () => ServingNames | undefined;
}

async function rig(given: Given = {}) {
  const { bootstrap = true, store = new MemoryCertificateStore(), api = new FakeApi(), clock = new VirtualClock() } = given;
  const node = { names: "names" in given ? given.names : home };
  const logger = new RecordingLogger();
  const metrics = given.metrics ?? new RecordingMetrics();
  api.onCreate ??= (object) =>
    ({ ...object, spec: { ...(object as CertificateSigningRequest).spec, username: "system:node:vk" } }) as never;
  const names = given.failing ?? (() => node.names);
  const manager = await openCertificateManager({
    nodeName: "vk",
    names,
    bootstrap,
    store,
    client: api.client,
    clock,
    random: new SeededRandom(1),
    logger,
    metrics,
  });
  let changes = 0;
  manager.onChange(() => changes++);
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  running.catch(() => {});
  const end = async (): Promise<void> => {
    stop.abort();
    await running.catch(() => {});
  };
  stops.push(end);
  return {
    api,
    clock,
    logger,
    manager,
    metrics,
    node,
    store,
    end,
    running,
    changes: () => changes,
    served: () => certificateOf(manager.current()),
  };
}

/** Keys are created in real time, which the fake clock does not include. */
const soon = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 30_000, interval: 5 });

const requests = (api: FakeApi): CertificateSigningRequest[] => api.created as CertificateSigningRequest[];

/** Number of counted failures to renew the certificate. */
const renewErrors = ({ samples }: RecordingMetrics): number =>
  samples.filter((sample) => sample === "kubelet_server_expiration_renew_errors").length;

/** Signs the last request, as happens after an approval. */
function approve(api: FakeApi, { lifetimeMs = 100 * day, fromMs = Date.UTC(2026, 0, 1), ips = home.ips } = {}): void {
  const request = requests(api).at(-1);
  const pem = Buffer.from(request?.spec.request ?? "", "base64").toString();
  const asked = parseCertificateRequest(pem);
  const { alternativeNames } = parseCertificateRequest(createCertificateRequest({ names: ips }, generateKey())).der;
  const certificate = authority.sign(
    { ...asked, der: { ...asked.der, alternativeNames } },
    { usages: ["digital signature", "server auth"], validity: { notBeforeMs: fromMs, notAfterMs: fromMs + lifetimeMs } },
  );
  decide(api, { certificate: Buffer.from(certificate).toString("base64") });
}

function decide(api: FakeApi, status: CertificateSigningRequest["status"]): void {
  const { metadata } = requests(api).at(-1) ?? {};
  api.put(collection, { ...api.get(`${collection}/${metadata?.name ?? ""}`), ...{ status } });
}

test("a self-signed certificate is available at once, for the node's name and addresses", async () => {
  const { served, logger } = await rig({ bootstrap: false });

  expect(served().subjectAltName).toBe("DNS:vk, IP Address:10.0.0.1");
  expect(served().issuer).toBe(served().subject);
  expect(logger.warnings).toEqual([]);
});

test("the request has the form that the signer requires", async () => {
  const { api } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));

  expect(requests(api)[0]?.spec).toMatchObject({
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
  });
});

test("the certificate of an approved request comes into use without a restart", async () => {
  const { api, changes, served, manager, metrics, store } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));

  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
  expect(changes()).toBe(1);
  expect(createPublicKey(manager.current().key).equals(served().publicKey)).toBe(true);
  expect(store.stored).toMatchObject({ issued: manager.current() });
  expect(store.stored.pending).toBeUndefined();
  expect(metrics.samples).toContain("kubelet_certificate_manager_server_rotation_seconds 300");
});

test("nothing is requested before the node has an address; the request contains the addresses that are known then", async () => {
  const { api, clock, node } = await rig({ names: undefined });
  await clock.advance(20_000);
  expect(requests(api)).toEqual([]);

  node.names = home;
  await clock.advance(5_000);

  await soon(() => expect(requests(api)).toHaveLength(1));
});

test("a new address leads to a new request, and to a self-signed certificate until the request is approved", async () => {
  const { api, clock, logger, node, served, store } = await rig();
  await soon(() => expect(store.stored.pending?.names).toEqual(home));
  const moved = { dnsNames: [], ips: ["10.0.0.9"] };

  node.names = moved;
  await clock.advance(5_000);

  await soon(() => expect(store.stored.pending?.names).toEqual(moved));
  await soon(() => expect(served().subjectAltName).toBe("DNS:vk, IP Address:10.0.0.9"));
  expect(requests(api)).toHaveLength(2);
  expect(logger.warnings).toEqual([]);
});

test("the key, the certificate and the pending request survive a restart", async () => {
  const before = await rig();
  await soon(() => expect(before.store.stored.pending).toBeDefined());
  await before.end();

  const { api, served } = await rig({ store: before.store, api: before.api, clock: before.clock });
  expect(served().fingerprint256).toBe(before.served().fingerprint256);
  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
  expect(requests(api)).toHaveLength(1);
});

test("the certificate is renewed before it expires, and an expired one is replaced by a self-signed one", async () => {
  const { api, clock, served, metrics } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));
  approve(api);
  await soon(() => expect(served().issuer).toBe("CN=test-ca"));

  clock.jump(69 * day);
  await clock.advance(5_000);
  expect(requests(api)).toHaveLength(1);
  clock.jump(21 * day);
  await clock.advance(5_000);
  await soon(() => expect(requests(api)).toHaveLength(2));
  expect(served().issuer).toBe("CN=test-ca");

  clock.jump(10 * day);
  await clock.advance(5_000);
  await soon(() => expect(served().issuer).toBe(served().subject));
  approve(api, { fromMs: clock.now() - 300_000 });
  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
  await clock.advance(5_000);
  expect(metrics.samples.at(-1)).toBe(`kubelet_certificate_manager_server_ttl_seconds{node="vk"} ${(100 * day - 305_000) / 1000}`);
});

test("the time left of a certificate is a series only while a node that has it runs here", async () => {
  const metrics = new ScrapedMetrics();
  const { clock, end, node } = await rig({ bootstrap: false, names: undefined, metrics });
  await clock.advance(5_000);
  expect([metrics.scrape(), metrics.samples]).toEqual([[], []]);

  const look = async (names: ServingNames | undefined): Promise<void> => {
    node.names = names;
    await clock.advance(5_000);
  };
  const [left] = [expect.stringMatching(/^kubelet_certificate_manager_server_ttl_seconds\{node="vk"\} \d+$/)];
  await look(home);
  await soon(() => expect(metrics.scrape()).toEqual([left]));
  // Another instance has taken the node.
  await soon(() => expect(clock.pending).toBe(1));
  await look(undefined);
  await soon(() => expect(metrics.scrape()).toEqual([]));

  await soon(() => expect(clock.pending).toBe(1));
  await look(home);
  await soon(() => expect(metrics.scrape()).toEqual([left]));
  await end();
  expect(metrics.scrape()).toEqual([]);
});

test("a request that is not decided is logged after a quarter of an hour, stays open, and can still be approved", async () => {
  const { api, clock, logger, metrics, served } = await rig();
  // The fake's watches never end, unlike a server's.
  const warnings = () => logger.warnings.filter((line) => !line.startsWith("list or watch"));
  await soon(() => expect(requests(api)).toHaveLength(1));

  await clock.advance(895_000);
  expect(warnings()).toEqual([]);
  await clock.advance(10_000);
  expect(warnings()).toEqual(["the request for a serving certificate is not approved yet; approve it with: kubectl certificate approve"]);
  await clock.advance(800_000);
  expect(warnings()).toHaveLength(1);
  expect(requests(api)).toHaveLength(1);
  // The delay doubles each time.
  await clock.advance(200_000);
  expect(warnings()).toHaveLength(2);
  await clock.advance(1_600_000);
  expect(warnings()).toHaveLength(2);
  await clock.advance(400_000);
  expect(warnings()).toHaveLength(3);
  expect(renewErrors(metrics)).toBe(3);
  const csr = requests(api)[0]?.metadata?.name;
  expect(logger.fields.filter((fields) => "waitedMinutes" in fields)).toEqual(
    [15, 30, 60].map((waitedMinutes) => ({ csr, waitedMinutes })),
  );
  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
});

test.each(["Denied", "Failed"])("a request that is %s is logged, and repeated much later", async (type) => {
  const { api, clock, logger, metrics, served } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));

  decide(api, { conditions: [{ type, status: "True", reason: "No" }] });
  await soon(() =>
    expect(logger.warnings).toEqual(["the request for a serving certificate was refused; the current certificate stays in use"]),
  );
  const csr = requests(api)[0]?.metadata?.name;
  expect(logger.fields).toContainEqual({ csr, condition: type, reason: "No" });
  await soon(() => expect(renewErrors(metrics)).toBe(1));
  await clock.advance(800_000);
  expect(requests(api)).toHaveLength(1);
  await clock.advance(1_100_000);

  await soon(() => expect(requests(api)).toHaveLength(2));
  expect(served().issuer).toBe(served().subject);
});

test("a request that is deleted is soon repeated", async () => {
  const { api, clock } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));

  api.remove(`${collection}/${requests(api)[0]?.metadata?.name ?? ""}`);
  await clock.advance(10_000);

  await soon(() => expect(requests(api)).toHaveLength(2));
});

test("a requester that is not the node is warned once that approvers may refuse, and gets the certificate if it is approved", async () => {
  const api = new FakeApi();
  api.onCreate = (object) =>
    ({ ...object, spec: { ...(object as CertificateSigningRequest).spec, username: "system:serviceaccount:kube-system:vk" } }) as never;
  const { logger, served } = await rig({ api });
  await soon(() => expect(logger.warnings).toEqual([expect.stringContaining("automatic approvers accept")]));

  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
});

test("without permission to create requests, the self-signed certificate stays, this is logged once, and attempts become less frequent", async () => {
  const api = new FakeApi();
  const clock = new VirtualClock();
  const askedMs: number[] = [];
  api.override = (method) => {
    if (method === "POST") askedMs.push(clock.monotonic());
    return { status: 403, body: { kind: "Status", code: 403, message: "no" } };
  };
  const { logger } = await rig({ api, clock });
  await soon(() => expect(logger.warnings).toHaveLength(1));

  await soon(async () => {
    await clock.advance(5_000);
    expect(askedMs).toHaveLength(7);
  });

  // The first retry comes after two seconds. Each delay is about twice the one before.
  expect((askedMs[6] ?? 0) - (askedMs[5] ?? 0)).toBeGreaterThan(30_000);
  expect(logger.warnings).toHaveLength(1);
});

test.each([
  ["lacks the node's address", { ips: ["10.9.9.9"] }],
  ["has expired already", { fromMs: Date.UTC(2020, 0, 1), lifetimeMs: day }],
])("a certificate that %s is logged, and another one is requested much later", async (_what, wish) => {
  const { api, clock, logger, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());

  approve(api, wish);

  await soon(() => expect(logger.warnings).toEqual([expect.stringContaining("the certificate from the cluster's signer")]));
  await clock.advance(600_000);
  expect(requests(api)).toHaveLength(1);
  await clock.advance(1_400_000);
  await soon(() => expect(requests(api)).toHaveLength(2));
});

test("setting back the wall clock does not prevent further requests", async () => {
  const api = new FakeApi();
  let attempts = 0;
  api.override = (method) => {
    if (method === "POST") attempts++;
    return { status: 403, body: { kind: "Status", code: 403, message: "no" } };
  };
  const clock = new VirtualClock();
  clock.jump(20_000 * day);
  await rig({ api, clock });
  await soon(() => expect(attempts).toBe(1));

  clock.jump(-20_000 * day);

  await soon(async () => {
    await clock.advance(5_000);
    expect(attempts).toBeGreaterThan(1);
  });
});

test("a certificate for another key is refused", async () => {
  const { api, logger, served } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));
  const { certificate } = authority.issue({ commonName: "system:node:vk", usages: ["server auth"] });

  decide(api, { certificate: Buffer.from(certificate).toString("base64") });

  await soon(() => expect(logger.lines).toContain("error the certificate from the cluster's signer cannot be used"));
  expect(served().issuer).toBe(served().subject);
});

test("a saved certificate that is still valid is used at once", async () => {
  const before = await rig();
  await soon(() => expect(requests(before.api)).toHaveLength(1));
  approve(before.api);
  await soon(() => expect(before.served().issuer).toBe("CN=test-ca"));
  await before.end();

  const again = await rig({ store: before.store, api: before.api, clock: before.clock });

  expect(again.manager.current()).toEqual(before.manager.current());
  await again.end();
  expect([again.changes(), requests(before.api).length]).toEqual([0, 1]);
});

test("a saved certificate that has expired is replaced by the self-signed certificate that was saved with it", async () => {
  const before = await rig();
  await soon(() => expect(requests(before.api)).toHaveLength(1));
  const own = before.manager.current();
  approve(before.api, { lifetimeMs: day });
  await soon(() => expect(before.served().issuer).toBe("CN=test-ca"));
  await before.end();
  before.clock.jump(2 * day);

  expect((await rig({ store: before.store, clock: before.clock })).manager.current()).toEqual(own);
});

test("a saved certificate that cannot be read is logged and ignored", async () => {
  const store = new MemoryCertificateStore();
  store.stored = { selfSigned: { certificate: "x", key: "y" }, issued: { certificate: "x", key: "y" } };

  const { logger, served } = await rig({ store, bootstrap: false });

  expect(logger.warnings).toEqual(Array.from({ length: 2 }, () => "a saved certificate cannot be used; continuing without it"));
  expect(logger.fields[0]).toEqual({ err: expect.stringContaining("read a certificate and its key: ") });
  expect(served().issuer).toBe(served().subject);
  expect(store.stored.issued).toBeUndefined();
});

test("if nothing can be saved, the program continues, and logs this each time", async () => {
  const store = new MemoryCertificateStore();
  store.save = () => Promise.reject(new Error("disk full"));
  const { api, logger, served } = await rig({ store });
  await soon(() => expect(requests(api)).toHaveLength(1));
  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));

  expect(new Set(logger.warnings)).toEqual(new Set(["cannot save the serving certificate; it will be missing after a restart"]));
  expect(logger.warnings.length).toBeGreaterThanOrEqual(3);
  expect(logger.fields).toContainEqual({ err: "disk full" });
});

test("an error of the function that returns the node's names ends the manager", async () => {
  let calls = 0;
  const failing = (): ServingNames => {
    if (calls++ > 0) throw new Error("no addresses");
    return home;
  };

  await expect((await rig({ failing })).running).rejects.toThrow("no addresses");
});

test("the log reports the request, its result, and the end of the certificate's validity", async () => {
  const { api, logger, metrics, served } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));
  await soon(() => expect(logger.lines[0]).toMatch(/^info requested a serving certificate from the cluster/));
  expect(logger.fields[0]).toEqual({ csr: requests(api)[0]?.metadata?.name, dnsNames: [], ips: ["10.0.0.1"] });

  approve(api);
  await soon(() => expect(served().issuer).toBe("CN=test-ca"));

  expect(logger.lines.filter((line) => line.includes("serving certificate has"))).toEqual(["info the serving certificate has changed"]);
  expect(logger.fields).toContainEqual({ selfSigned: false, notAfter: served().validTo });
  expect(renewErrors(metrics)).toBe(0);
});

test("a self-signed certificate that replaces another one does not count as a rotation", async () => {
  const { clock, logger, metrics, node, served } = await rig({ bootstrap: false });
  node.names = { dnsNames: [], ips: ["10.0.0.9"] };
  await clock.advance(5_000);
  await soon(() => expect(served().subjectAltName).toBe("DNS:vk, IP Address:10.0.0.9"));

  expect(logger.fields).toEqual([{ selfSigned: true, notAfter: served().validTo }]);
  expect(metrics.samples.filter((sample) => sample.includes("rotation"))).toEqual([]);
});

test("without bootstrap no certificate is requested", async () => {
  const { api, clock } = await rig({ bootstrap: false });

  await clock.advance(60_000);

  expect(api.requests).toEqual([]);
});

test("while the node has no addresses, a pending request stays, and no new one is created", async () => {
  const { api, clock, node, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());
  const { pending } = store.stored;

  node.names = undefined;
  await clock.advance(20_000);

  expect(store.stored.pending).toEqual(pending);
  expect(requests(api)).toHaveLength(1);
});

test("a pending request is forgotten when the addresses change back to those of the certificate", async () => {
  const { api, clock, node, served, store } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));
  approve(api);
  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
  node.names = { dnsNames: [], ips: ["10.0.0.9"] };
  await clock.advance(5_000);
  await soon(() => expect(store.stored.pending).toBeDefined());

  node.names = home;
  await clock.advance(5_000);

  await soon(() => expect(store.stored.pending).toBeUndefined());
});

test("the warning about a requester that is not the node is logged once, however often it requests", async () => {
  const api = new FakeApi();
  api.onCreate = (object) => ({ ...object, spec: { ...(object as CertificateSigningRequest).spec, username: "admin" } }) as never;
  const { clock, logger, node } = await rig({ api });
  await soon(() => expect(logger.warnings).toHaveLength(1));
  expect(logger.fields).toContainEqual({ csr: requests(api)[0]?.metadata?.name, requester: "admin" });

  node.names = { dnsNames: [], ips: ["10.0.0.9"] };
  await clock.advance(5_000);
  await soon(() => expect(requests(api)).toHaveLength(2));
  await clock.advance(5_000);

  expect(logger.warnings).toHaveLength(1);
});

test("failures to create a request are counted and logged, only the first as a warning", async () => {
  const [api, clock] = [new FakeApi(), new VirtualClock()];
  api.override = () => ({ status: 403, body: { kind: "Status", code: 403, message: "no" } });
  const { logger, metrics } = await rig({ api, clock });

  await soon(async () => {
    await clock.advance(5_000);
    expect(logger.lines).toHaveLength(3);
  });

  expect(logger.lines.map((line) => line.split(" ", 1)[0])).toEqual(["warn", "debug", "debug"]);
  expect(logger.fields).toMatchObject(
    [1, 2, 3].map((attempt) => ({ attempt, delayMs: expect.any(Number), err: expect.stringMatching(/no$/) })),
  );
  expect(renewErrors(metrics)).toBe(3);
});

test("after a request could be created, the delays start anew", async () => {
  const [api, clock] = [new FakeApi(), new VirtualClock()];
  let failures = 6;
  api.override = (method) =>
    method === "POST" && failures-- > 0 ? { status: 403, body: { kind: "Status", code: 403, message: "no" } } : undefined;
  await rig({ api, clock });
  await soon(async () => {
    await clock.advance(5_000);
    expect(requests(api)).toHaveLength(1);
  });

  api.remove(`${collection}/${requests(api)[0]?.metadata?.name ?? ""}`);
  await clock.advance(5_000);
  await clock.advance(5_000);

  await soon(() => expect(requests(api)).toHaveLength(2));
});

test("a certificate that cannot be used is counted, and logged with its request", async () => {
  const { api, logger, metrics, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());

  approve(api, { ips: ["10.9.9.9"] });

  await soon(() => expect(renewErrors(metrics)).toBe(1));
  expect(logger.fields).toContainEqual({ csr: requests(api)[0]?.metadata?.name, delayMs: expect.any(Number) });
  expect(store.stored.issued).toBeDefined();
});

test("a request that is deleted is logged and counted", async () => {
  const { api, logger, metrics } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));
  const csr = requests(api)[0]?.metadata?.name ?? "";

  api.remove(`${collection}/${csr}`);

  await soon(() => expect(logger.lines).toContain("info the request for a serving certificate was deleted before it was decided"));
  expect(logger.fields).toContainEqual({ csr });
  await soon(() => expect(renewErrors(metrics)).toBe(1));
});

test("aborting the manager ends what it waits for", async () => {
  const { clock, end, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());

  await end();

  await soon(() => expect(clock.pending).toBe(0));
});
