import { isDeadlineExceeded, messageOf } from "@virtual-kubelet/errdefs";
import { fail, type Judgement } from "./finding.ts";
import { shellWord } from "./shell-words.ts";

/** System and TLS errors of a failed connection, by their codes. */
const explanations: readonly [
  codes: readonly string[],
  explain: (host: string, url: string, kubectl: (words: string) => string) => Judgement,
][] = [
  [
    ["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA"],
    (host) => fail(`the name ${host} of the API server cannot be resolved`, `getent hosts ${host}`, ...correctServer),
  ],
  [["ECONNREFUSED"], (_host, url) => fail(`nothing listens at ${url}`, `curl -k ${shellWord(`${url}/version`)}`, ...correctServer)],
  [
    ["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT"],
    (_host, url) =>
      fail(`no route to ${url}, or a firewall drops the packets`, `curl -k --max-time 10 ${shellWord(`${url}/version`)}`, openPort),
  ],
  [
    ["ERR_TLS_CERT_ALTNAME_INVALID"],
    (host, url) =>
      fail(
        `the API server's certificate is not valid for ${host}`,
        `openssl s_client -connect ${shellWord(hostAndPortOf(url))} </dev/null | openssl x509 -noout -ext subjectAltName`,
        "# correct the server in the kubeconfig, or name one of these:",
        "# kubectl config set-cluster NAME --tls-server-name=ONE-OF-THESE",
      ),
  ],
  [
    ["CERT_HAS_EXPIRED"],
    () =>
      fail(
        "the API server's certificate has expired, or this machine's clock is ahead",
        "date -u",
        "kubeadm certs renew apiserver   # on the control plane",
      ),
  ],
  [
    ["CERT_NOT_YET_VALID"],
    () => fail("the API server's certificate is not valid yet: this machine's clock is behind", "date -u", "sudo timedatectl set-ntp true"),
  ],
  [
    [
      "SELF_SIGNED_CERT_IN_CHAIN",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "UNABLE_TO_GET_ISSUER_CERT",
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      "CERT_SIGNATURE_FAILURE",
    ],
    (_host, _url, kubectl) =>
      fail(
        "the API server's certificate is signed by an authority that the kubeconfig does not name (x509: certificate signed by unknown authority)",
        kubectl("config view --minify"),
        "# name the cluster's authority in the kubeconfig:",
        "# kubectl config set-cluster NAME --certificate-authority=CA.CRT",
      ),
  ],
  [
    ["ERR_SSL_WRONG_VERSION_NUMBER", "EPROTO"],
    (_host, url, kubectl) => fail(`what answers at ${url} does not speak TLS`, kubectl("config view --minify"), ...correctServer),
  ],
];

const openPort = "# open the port in firewalls and network policies, or correct the server in the kubeconfig";

/** Remarks, because a command with an invented name would add that cluster to the user's kubeconfig. */
const correctServer = ["# correct the server in the kubeconfig:", "# kubectl config set-cluster NAME --server=https://HOST:PORT"];

/**
 * Explains why a request did not reach the API server.
 *
 * @param url - of the API server
 * @param kubectl - makes a command of kubectl with the program's kubeconfig
 */
export function explainConnectFailure(error: unknown, url: string, kubectl: (words: string) => string): Judgement {
  const message = messageOf(error).replaceAll("\n", " ");
  const proxy = /proxy (\S+): (.*)$/.exec(message);
  if (proxy)
    return fail(
      `the proxy ${proxy[1]} does not connect to ${url}: ${proxy[2]}`,
      "env | grep -i _proxy",
      `export NO_PROXY=$NO_PROXY,${hostOf(url)}   # if no proxy is needed`,
      "# or correct proxy-url in the kubeconfig",
    );
  const codes = codesOf(error);
  const explain = explanations.find(([known]) => known.some((code) => codes.has(code)))?.[1];
  if (explain) return explain(hostOf(url), url, kubectl);
  if (isDeadlineExceeded(error))
    return fail(
      `${url} does not answer: a firewall may drop the packets`,
      `curl -k --max-time 10 ${shellWord(`${url}/version`)}`,
      openPort,
    );
  return fail(message, `curl -k ${shellWord(`${url}/version`)}`);
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : url;
}

/** With brackets around an IPv6 address. */
function hostAndPortOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "http:" ? "80" : "443")}`;
}

/** Maximum number of causes that are followed. */
const maxCauses = 32;

/** Codes of an error, its causes and its parts. */
function codesOf(error: unknown): ReadonlySet<string> {
  const codes = new Set<string>();
  for (let current = error, depth = 0; current instanceof Error && depth < maxCauses; current = current.cause, depth++) {
    const parts: readonly unknown[] = current instanceof AggregateError ? [current, ...(current.errors as readonly unknown[])] : [current];
    for (const part of parts) if (part instanceof Error && "code" in part && typeof part.code === "string") codes.add(part.code);
  }
  return codes;
}
