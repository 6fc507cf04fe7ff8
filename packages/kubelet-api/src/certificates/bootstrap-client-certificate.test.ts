import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { noMetrics, type CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { createCertificateAuthority, parseCertificateRequest, type KeyUsage } from "@virtual-kubelet/pki";
import { expect, test, vi } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { MemoryCertificateStore } from "../test-support/memory-certificate-store.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { bootstrapClientCertificate } from "./bootstrap-client-certificate.ts";

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const authority = createCertificateAuthority("test-ca");

function rig({ api = new FakeApi(), store = new MemoryCertificateStore(), clock = new VirtualClock() } = {}) {
  const stop = new AbortController();
  const asked: [name: string, isResumed: boolean][] = [];
  const start = (nodeName = "vk") => {
    const result = bootstrapClientCertificate(
      {
        nodeName,
        store,
        client: api.client,
        clock,
        random: new SeededRandom(1),
        logger: new RecordingLogger(),
        metrics: noMetrics,
        onRequested: ({ name }, isResumed) => void asked.push([name, isResumed]),
      },
      stop.signal,
    );
    result.catch(() => {});
    return result;
  };
  return { api, asked, clock, start, stop, store };
}

const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 30_000, interval: 5 });

/** Signs the last request. */
function approve(
  api: FakeApi,
  { fromMs = 0, commonName = "", usages = ["client auth"] }: { fromMs?: number; commonName?: string; usages?: readonly KeyUsage[] } = {},
): void {
  const { metadata, spec } = api.created.at(-1) as CertificateSigningRequest;
  const request = parseCertificateRequest(Buffer.from(spec.request, "base64").toString());
  const validity = { notBeforeMs: fromMs, notAfterMs: Date.UTC(2040, 0) };
  const certificate =
    commonName === ""
      ? authority.sign(request, { usages, validity })
      : authority.issue({ commonName, usages: ["client auth"], validity }).certificate;
  api.put(collection, { metadata, spec, status: { certificate: Buffer.from(certificate).toString("base64") } } as never);
}

test("the key is saved before the request is sent", async () => {
  const { api, start, store } = rig();
  const saved: unknown[] = [];
  api.onCreate = (object) => {
    saved.push(store.stored.pending?.request);
    return object;
  };

  void start();

  await soon(() => expect(saved).toHaveLength(1));
  const { spec } = api.created[0] as CertificateSigningRequest;
  expect(Buffer.from(spec.request, "base64").toString()).toBe(saved[0]);
});

test("the signed certificate is saved with the key, and the pending request is forgotten", async () => {
  const { api, asked, start, store } = rig();
  const result = start();
  await soon(() => expect(asked).toHaveLength(1));

  approve(api);

  expect(await result).toEqual(store.stored.issued);
  expect(store.stored.pending).toBeUndefined();
});

test("a call after an interrupted one continues the same request, with the same key", async () => {
  const first = rig();
  const interrupted = first.start();
  await soon(() => expect(first.asked).toHaveLength(1));
  const key = first.store.stored.pending?.key;
  first.stop.abort(new Error("interrupted"));
  await expect(interrupted).rejects.toThrow("interrupted");

  const { api, asked, start } = rig({ api: first.api, store: first.store });
  const result = start();
  await soon(() => expect(asked).toEqual([[first.asked[0]?.[0], true]]));
  approve(api);

  expect((await result).key).toBe(key);
});

test("a request of another node in the same folder is not continued", async () => {
  const first = rig();
  void first.start("other");
  await soon(() => expect(first.asked).toHaveLength(1));
  first.stop.abort();

  const { asked, start } = rig({ api: first.api, store: first.store });
  void start();

  await soon(() => expect(asked).toHaveLength(1));
  expect(asked[0]?.[1]).toBe(false);
  expect(asked[0]?.[0]).not.toBe(first.asked[0]?.[0]);
});

test.for(["Denied", "Failed"] as const)("a request that is %s ends with its reason, and is forgotten", async (type) => {
  const { api, asked, start, store } = rig();
  const result = start();
  await soon(() => expect(asked).toHaveLength(1));

  api.put(collection, {
    ...(api.created[0] as CertificateSigningRequest),
    status: { conditions: [{ type, status: "True", reason: "Why", message: "not you" }] },
  } as never);

  const error: unknown = await result.catch((thrown: unknown) => thrown);
  expect(error).toSatisfy(isInvalidInput);
  expect(String(error)).toContain(`the request was ${type === "Denied" ? "denied" : "refused"}: Why: not you`);
  expect(store.stored.pending).toBeUndefined();
});

test("a request that is deleted ends with that, and is forgotten", async () => {
  const { api, asked, start, store } = rig();
  const result = start();
  await soon(() => expect(asked).toHaveLength(1));

  api.remove(`${collection}/${asked[0]?.[0]}`);

  await expect(result).rejects.toThrow("the request was deleted before it was decided");
  expect(store.stored.pending).toBeUndefined();
});

test("a certificate for another key, or of another user, is not saved", async () => {
  const { api, asked, start, store } = rig();
  const result = start();
  await soon(() => expect(asked).toHaveLength(1));

  approve(api, { commonName: "system:node:vk" });

  await expect(result).rejects.toThrow("the certificate cannot be used: read a certificate and its key: the key does not belong");
  expect(store.stored.issued).toBeUndefined();
});

test("a certificate that is only for servers is not saved", async () => {
  const { api, asked, start, store } = rig();
  const result = start();
  await soon(() => expect(asked).toHaveLength(1));

  approve(api, { usages: ["server auth"] });

  await expect(result).rejects.toThrow("expected 1.3.6.1.5.5.7.3.2 (client authentication)");
  expect(store.stored.issued).toBeUndefined();
});

test("a certificate that is not valid yet ends with both times", async () => {
  const { api, asked, clock, start } = rig();
  const result = start();
  await soon(() => expect(asked).toHaveLength(1));

  approve(api, { fromMs: clock.now() + 3_600_000 });

  await expect(result).rejects.toThrow("compare the clocks");
});
