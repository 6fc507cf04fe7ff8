import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { parseBootstrapToken } from "./bootstrap-token.ts";
import { parsePin, pinsOf } from "./ca-pins.ts";
import { checkClusterInfo } from "./cluster-info.ts";
import { isSignedWith } from "./cluster-info-signature.ts";

const token = { id: "abcdef", secret: "0123456789abcdef" };
const authority = createCertificateAuthority("kubernetes").certificate;
const other = createCertificateAuthority("other").certificate;
const [pin = ""] = pinsOf(authority);

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

interface SignatureWish {
  readonly header?: object;
  readonly secret?: string;
}

/** A detached signature, as the cluster's controller makes it. */
function sign(content: string, { header = { alg: "HS256", kid: token.id }, secret = token.secret }: SignatureWish = {}): string {
  const head = encode(header);
  const payload = Buffer.from(content).toString("base64url");
  return `${head}..${createHmac("sha256", secret).update(`${head}.${payload}`).digest("base64url")}`;
}

function kubeconfigOf(bundle: string, server = "https://10.0.0.1:6443"): string {
  const cluster = { server, "certificate-authority-data": Buffer.from(bundle).toString("base64") };
  return JSON.stringify({ apiVersion: "v1", kind: "Config", clusters: [{ name: "", cluster }] });
}

const info = (kubeconfig: string, signature = sign(kubeconfig)) => ({ data: { kubeconfig, "jws-kubeconfig-abcdef": signature } });

test.for(["abcdef.0123456789abcdef", "a1b2c3.zzzzzzzzzzzzzzzz"])("%s is a bootstrap token", (text) => {
  expect(parseBootstrapToken(text)).toEqual({ id: text.slice(0, 6), secret: text.slice(7) });
});

test.for([
  "",
  "abcdef",
  "abcdef.",
  "ABCDEF.0123456789abcdef",
  "abcdef.0123456789abcde",
  "abcdef.0123456789abcdeff",
  "abcdef.0123456789abcdef\n",
])("%j is no bootstrap token", (text) => {
  expect(parseBootstrapToken(text)).toBeUndefined();
});

test("a hash is sha256: and 64 hexadecimal digits, in either case", () => {
  expect(parsePin(pin.toUpperCase())).toBe(pin);
  for (const text of ["", pin.slice(7), pin.slice(0, -1), `${pin}0`, pin.replace("sha256", "sha512")])
    expect(parsePin(text)).toBeUndefined();
});

test("a signature counts only for its content, its token and HS256", () => {
  expect(isSignedWith(token, sign("content"), "content")).toBe(true);
  expect(isSignedWith(token, sign("content"), "content ")).toBe(false);
  expect(isSignedWith(token, sign("content", { secret: "1123456789abcdef" }), "content")).toBe(false);
  expect(isSignedWith(token, sign("content", { header: { alg: "HS256", kid: "zzzzzz" } }), "content")).toBe(false);
  expect(isSignedWith(token, sign("content", { header: { alg: "none", kid: token.id } }), "content")).toBe(false);
  expect(isSignedWith(token, sign("content", { header: { alg: "HS256", kid: token.id, crit: ["b64"] } }), "content")).toBe(false);
  expect(isSignedWith(token, `${encode({ alg: "none", kid: token.id })}..`, "content")).toBe(false);
  expect(isSignedWith(token, `${encode([])}..AAAA`, "content")).toBe(false);
  expect(isSignedWith(token, "a.b.c", "content")).toBe(false);
  expect(isSignedWith(token, "", "content")).toBe(false);
});

test("the cluster of a signed kubeconfig is found by one of several hashes, and without any hash", async () => {
  const kubeconfig = kubeconfigOf(authority);
  const good = { kind: "good", cluster: { server: "https://10.0.0.1:6443", ca: authority }, kubeconfig };

  expect(await checkClusterInfo(info(kubeconfig), token, [`sha256:${"0".repeat(64)}`, pin])).toEqual(good);
  expect(await checkClusterInfo(info(kubeconfig), token, [])).toEqual(good);
});

test("of a bundle, any authority may have the hash", async () => {
  expect(await checkClusterInfo(info(kubeconfigOf(other + authority)), token, [pin])).toMatchObject({ kind: "good" });
});

test("an authority with another hash is refused, although the signature is right", async () => {
  expect(await checkClusterInfo(info(kubeconfigOf(other)), token, [pin])).toEqual({
    kind: "bad",
    problem: `its authority has the hash ${pinsOf(other).join()}, expected ${pin}: check the hash, and that this is your API server`,
  });
});

test("a missing signature may still come, a wrong one is refused", async () => {
  const kubeconfig = kubeconfigOf(authority);

  expect(await checkClusterInfo({ data: { kubeconfig } }, token, [pin])).toMatchObject({ kind: "unsigned" });
  expect(await checkClusterInfo(info(kubeconfig, sign(kubeconfigOf(other))), token, [pin])).toMatchObject({ kind: "bad" });
});

test("a problem never shows the token's secret", async () => {
  for (const given of [{}, { data: {} }, { data: { kubeconfig: "x" } }, info("x"), info("x", "y")])
    expect(JSON.stringify(await checkClusterInfo(given, token, []))).not.toContain(token.secret);
});

test.for<[kubeconfig: string, problem: string]>([
  ["{", "its kubeconfig cannot be used: "],
  ["{}", "its kubeconfig cannot be used: clusters: "],
  [JSON.stringify({ clusters: [] }), "clusters: expected one cluster"],
  [kubeconfigOf(authority, "http://10.0.0.1:6443"), "clusters.0.cluster.server: expected an https URL"],
  [kubeconfigOf("no certificate"), "its kubeconfig holds no certificate"],
])("a signed kubeconfig that is unusable is refused: %j", async ([kubeconfig, problem]) => {
  expect(await checkClusterInfo(info(kubeconfig), token, [])).toEqual({ kind: "bad", problem: expect.stringContaining(problem) });
});
