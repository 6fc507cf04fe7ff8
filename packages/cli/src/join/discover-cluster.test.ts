import { VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { createKubeClient, type TlsMaterial } from "@virtual-kubelet/kube-client";
import { ScriptedTransport, type ScriptedAnswer } from "@virtual-kubelet/kube-client/testing";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { pinsOf } from "./ca-pins.ts";
import { discoverCluster } from "./discover-cluster.ts";

const token = { id: "abcdef", secret: "0123456789abcdef" };
const ca = createCertificateAuthority("kubernetes").certificate;
const [pin = ""] = pinsOf(ca);
const idle = new AbortController().signal;

function info(server = "https://10.0.0.1:6443", { isSigned = true } = {}): ScriptedAnswer {
  const cluster = { server, "certificate-authority-data": Buffer.from(ca).toString("base64") };
  const kubeconfig = JSON.stringify({ clusters: [{ name: "", cluster }] });
  const head = Buffer.from(JSON.stringify({ alg: "HS256", kid: token.id })).toString("base64url");
  const payload = Buffer.from(kubeconfig).toString("base64url");
  const signature = `${head}..${createHmac("sha256", token.secret).update(`${head}.${payload}`).digest("base64url")}`;
  const data = { kubeconfig, ...(isSigned && { "jws-kubeconfig-abcdef": signature }) };
  return { body: { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "kube-public", name: "cluster-info" }, data } };
}

const status = (code: number, reason: string): ScriptedAnswer => ({
  status: code,
  body: { kind: "Status", code, reason, message: reason },
});

/** Starts a discovery from a server that gives these answers; the last one is repeated. */
function discover(answers: readonly (ScriptedAnswer | Error)[], pins: readonly string[] = [pin]) {
  const clock = new VirtualClock();
  const connections: TlsMaterial[] = [];
  const said: string[] = [];
  let requests = 0;
  const openClient = ({ tls }: { readonly tls: TlsMaterial }) => {
    connections.push(tls);
    const transport = new ScriptedTransport(({ path, headers }) => {
      expect(path).toBe("/api/v1/namespaces/kube-public/configmaps/cluster-info");
      expect(headers).not.toHaveProperty("authorization");
      const answer = answers[Math.min(requests++, answers.length - 1)];
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error("no answer");
      return answer;
    });
    return { client: createKubeClient(transport), [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() };
  };
  const say = (line: string): void => void said.push(line);
  const result = discoverCluster({ server: "https://host:6443", token, pins, openClient, clock, say }, idle);
  result.catch(() => {});
  return { clock, connections, result, said, requests: () => requests };
}

test("the config map is read without trusting the server, and again from a server with the pinned authority", async () => {
  const { connections, result } = discover([info()]);

  expect(await result).toEqual({ server: "https://10.0.0.1:6443", ca });
  expect(connections).toEqual([{ insecureSkipVerify: true }, { ca }]);
});

test("without a hash it is read once, as kubeadm does", async () => {
  const { connections, result } = discover([info()], []);

  expect(await result).toMatchObject({ ca });
  expect(connections).toEqual([{ insecureSkipVerify: true }]);
});

test("a config map that changes between the two reads is refused", async () => {
  const { result } = discover([info(), info("https://10.0.0.2:6443")]);

  await expect(result).rejects.toThrow("its kubeconfig was another one when it was read again over a verified connection");
});

test("a signature that the cluster adds a moment later is waited for", async () => {
  const { clock, result, said } = discover([info(undefined, { isSigned: false }), info(undefined, { isSigned: false }), info()]);

  await clock.advance(5_000);
  await clock.advance(5_000);

  expect(await result).toMatchObject({ ca });
  expect(said).toEqual(["waiting for the cluster to sign its cluster-info with the token abcdef"]);
});

test("a signature that does not come means that the token does not exist or has expired", async () => {
  const { clock, result } = discover([info(undefined, { isSigned: false })]);

  for (let attempt = 0; attempt < 5; attempt++) await clock.advance(5_000);

  await expect(result).rejects.toThrow("it has no signature by the token abcdef: the token does not exist or has expired");
});

test("a server that does not answer is asked again, which is said once", async () => {
  const refused = new UnavailableError("connect ECONNREFUSED");
  const { clock, result, said } = discover([refused, refused, status(503, "ServiceUnavailable"), info()]);

  for (let attempt = 0; attempt < 3; attempt++) await clock.advance(5_000);

  expect(await result).toMatchObject({ ca });
  expect(said.filter((line) => line.includes("ECONNREFUSED"))).toHaveLength(1);
});

test("a server whose certificate the pinned authority has not signed is refused at once", async () => {
  const cause = Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  const { result, requests } = discover([info(), new UnavailableError("GET: self-signed certificate", { cause })]);

  await expect(result).rejects.toThrow("cannot verify https://host:6443: ");
  expect(requests()).toBe(2);
});

test("an answer that is not Kubernetes' is refused at once", async () => {
  const { result } = discover([{ body: { hello: "world" } }]);

  await expect(result).rejects.toThrow("cannot read kube-public/cluster-info from https://host:6443: ");
});

test.for([
  [403, "Forbidden"],
  [404, "NotFound"],
  [401, "Unauthorized"],
] as const)("a cluster without cluster-info for everybody (%d) is told with the other ways to join", async ([code, reason]) => {
  const { result } = discover([status(code, reason)]);

  await expect(result).rejects.toThrow(/has no kube-public\/cluster-info that anonymous clients can read.*--discovery-file/);
});
