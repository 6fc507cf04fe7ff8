import type { CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { FakeClock, SeededRandom } from "@virtual-kubelet/kube-client/testing";
import { createPublicKey } from "node:crypto";
import { CertificationRequest } from "@peculiar/asn1-csr";
import { AsnConvert } from "@peculiar/asn1-schema";
import { afterEach, expect, test, vi } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { TestAuthority, usages } from "../test-support/test-authority.ts";
import { openCertificateManager } from "./certificate-manager.ts";
import type { CertificateStore, StoredCertificates } from "./certificate-store.ts";
import { certificateOf } from "./key-pair.ts";
import type { ServingNames } from "./serving-names.ts";

const day = 86_400_000;
const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const authority = new TestAuthority();
const home: ServingNames = { dnsNames: [], ips: ["10.0.0.1"] };
let stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

class MemoryStore implements CertificateStore {
  stored: StoredCertificates = {};
  load = (): Promise<StoredCertificates> => Promise.resolve(this.stored);
  save = (stored: StoredCertificates): Promise<void> => {
    this.stored = JSON.parse(JSON.stringify(stored)) as StoredCertificates;
    return Promise.resolve();
  };
}

class RecordingMetrics {
  readonly samples: string[] = [];
  count = (name: string): void => void this.samples.push(name);
  gauge = (name: string, value: number): void => void this.samples.push(`${name} ${value}`);
  observe = (name: string, value: number): void => void this.samples.push(`${name} ${value}`);
}

interface Given {
  readonly bootstrap?: boolean;
  readonly names?: ServingNames | undefined;
  readonly store?: MemoryStore;
  readonly api?: FakeApi;
  readonly clock?: FakeClock;
}

async function rig(given: Given = {}) {
  const { bootstrap = true, store = new MemoryStore(), api = new FakeApi(), clock = new FakeClock() } = given;
  const node = { names: "names" in given ? given.names : home };
  const logger = new RecordingLogger();
  const metrics = new RecordingMetrics();
  api.onCreate ??= (object) =>
    ({ ...object, spec: { ...(object as CertificateSigningRequest).spec, username: "system:node:vk" } }) as never;
  const manager = await openCertificateManager({
    nodeName: "vk",
    names: () => node.names,
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
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  stops.push(end);
  return { api, clock, logger, manager, metrics, node, store, end, changes: () => changes, served: () => certificateOf(manager.current()) };
}

/** Keys are made in real time, of which the fake clock knows nothing. */
const soon = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 30_000, interval: 5 });

const requests = (api: FakeApi): CertificateSigningRequest[] => api.created as CertificateSigningRequest[];

/** Signs the last request, as an approval has it signed. */
function approve(api: FakeApi, { lifetimeMs = 100 * day, fromMs = Date.UTC(2026, 0, 1), ips = home.ips } = {}): void {
  const request = requests(api).at(-1);
  const pem = Buffer.from(request?.spec.request ?? "", "base64").toString();
  const der = Buffer.from(pem.replaceAll(/-----.*-----|\n/g, ""), "base64");
  const { subjectPKInfo } = AsnConvert.parse(der, CertificationRequest).certificationRequestInfo;
  const publicKey = Buffer.from(AsnConvert.serialize(subjectPKInfo));
  const subject = [["2.5.4.3", "system:node:vk"]] as const;
  const { certificate } = authority.issue({
    subject,
    publicKey,
    names: ips,
    usage: usages.server,
    notBeforeMs: fromMs,
    notAfterMs: fromMs + lifetimeMs,
  });
  decide(api, { certificate: Buffer.from(certificate).toString("base64") });
}

function decide(api: FakeApi, status: CertificateSigningRequest["status"]): void {
  const { metadata } = requests(api).at(-1) ?? {};
  api.put(collection, { ...api.get(`${collection}/${metadata?.name ?? ""}`), ...{ status } });
}

test("a certificate of its own is there at once, for name and addresses", async () => {
  const { served, logger } = await rig({ bootstrap: false });

  expect(served().subjectAltName).toBe("DNS:vk, IP Address:10.0.0.1");
  expect(served().issuer).toBe(served().subject);
  expect(logger.warnings).toEqual([]);
});

test("the request is what the signer wants", async () => {
  const { api } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));

  expect(requests(api)[0]?.spec).toMatchObject({
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
  });
});

test("an approved request's certificate comes into use without a restart", async () => {
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

test("nothing is asked for before the node has an address; what comes then is in the request", async () => {
  const { api, clock, node } = await rig({ names: undefined });
  await clock.advance(20_000);
  expect(requests(api)).toEqual([]);

  node.names = home;
  await clock.advance(5_000);

  await soon(() => expect(requests(api)).toHaveLength(1));
});

test("another address makes another request, and a certificate of its own until it is granted", async () => {
  const { api, clock, node, served, store } = await rig();
  await soon(() => expect(store.stored.pending?.names).toEqual(home));
  const moved = { dnsNames: [], ips: ["10.0.0.9"] };

  node.names = moved;
  await clock.advance(5_000);

  await soon(() => expect(store.stored.pending?.names).toEqual(moved));
  await soon(() => expect(served().subjectAltName).toBe("DNS:vk, IP Address:10.0.0.9"));
  expect(requests(api)).toHaveLength(2);
});

test("key, certificate and the request under way survive a restart", async () => {
  const before = await rig();
  await soon(() => expect(before.store.stored.pending).toBeDefined());
  await before.end();

  const { api, served } = await rig({ store: before.store, api: before.api, clock: before.clock });
  expect(served().fingerprint256).toBe(before.served().fingerprint256);
  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
  expect(requests(api)).toHaveLength(1);
});

test("a successor is asked for before the certificate expires, and an expired one gives way to one of its own", async () => {
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
  expect(metrics.samples.at(-1)).toBe(`kubelet_certificate_manager_server_ttl_seconds ${(100 * day - 305_000) / 1000}`);
});

test("a request that nobody decides is told of after a quarter of an hour, stays, and is good still", async () => {
  const { api, clock, logger, served } = await rig();
  // The fake's watches never end, as a server's do.
  const warnings = () => logger.warnings.filter((line) => !line.startsWith("list or watch"));
  await soon(() => expect(requests(api)).toHaveLength(1));

  await clock.advance(895_000);
  expect(warnings()).toEqual([]);
  await clock.advance(10_000);
  expect(warnings()).toEqual(["nobody has approved the request for a serving certificate yet: kubectl certificate approve"]);
  await clock.advance(800_000);
  expect(warnings()).toHaveLength(1);
  expect(requests(api)).toHaveLength(1);
  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
});

test.each(["Denied", "Failed"])("a request that is %s is told of, and made again much later", async (type) => {
  const { api, clock, logger, served } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));

  decide(api, { conditions: [{ type, status: "True", reason: "No" }] });
  await soon(() => expect(logger.warnings).toEqual(["the request for a serving certificate was refused; the present one stays"]));
  await clock.advance(800_000);
  expect(requests(api)).toHaveLength(1);
  await clock.advance(1_100_000);

  await soon(() => expect(requests(api)).toHaveLength(2));
  expect(served().issuer).toBe(served().subject);
});

test("a request that somebody deletes is made again soon", async () => {
  const { api, clock } = await rig();
  await soon(() => expect(requests(api)).toHaveLength(1));

  api.remove(`${collection}/${requests(api)[0]?.metadata?.name ?? ""}`);
  await clock.advance(10_000);

  await soon(() => expect(requests(api)).toHaveLength(2));
});

test("who is not the node is told once that approvers may refuse, and gets the certificate all the same", async () => {
  const api = new FakeApi();
  api.onCreate = (object) =>
    ({ ...object, spec: { ...(object as CertificateSigningRequest).spec, username: "system:serviceaccount:kube-system:vk" } }) as never;
  const { logger, served } = await rig({ api });
  await soon(() => expect(logger.warnings).toEqual([expect.stringContaining("automatic approvers refuse")]));

  approve(api);

  await soon(() => expect(served().issuer).toBe("CN=test-ca"));
});

test("without the right to ask it stays with its own certificate, tells of it once, and asks ever more rarely", async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
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

  // Two seconds after the first, twice as long each time, give or take.
  expect((askedMs[6] ?? 0) - (askedMs[5] ?? 0)).toBeGreaterThan(30_000);
  expect(logger.warnings).toHaveLength(1);
});

test.each([
  ["lacks the node's address", { ips: ["10.9.9.9"] }],
  ["is over already", { fromMs: Date.UTC(2020, 0, 1), lifetimeMs: day }],
])("a certificate that %s is told of, and another one is asked for much later", async (_what, wish) => {
  const { api, clock, logger, store } = await rig();
  await soon(() => expect(store.stored.pending).toBeDefined());

  approve(api, wish);

  await soon(() => expect(logger.warnings).toEqual([expect.stringContaining("the cluster's signer gave a certificate")]));
  await clock.advance(600_000);
  expect(requests(api)).toHaveLength(1);
  await clock.advance(1_400_000);
  await soon(() => expect(requests(api)).toHaveLength(2));
});

test("a wall clock that is set back does not keep it from asking again", async () => {
  const api = new FakeApi();
  let attempts = 0;
  api.override = (method) => {
    if (method === "POST") attempts++;
    return { status: 403, body: { kind: "Status", code: 403, message: "no" } };
  };
  const clock = new FakeClock();
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
  const { certificate } = authority.issue({ subject: [["2.5.4.3", "system:node:vk"]], usage: usages.server });

  decide(api, { certificate: Buffer.from(certificate).toString("base64") });

  await soon(() => expect(logger.lines).toContain("error the cluster's signer gave a certificate that is of no use"));
  expect(served().issuer).toBe(served().subject);
});
