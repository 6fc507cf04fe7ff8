import { isUnauthorized, messageOf } from "@virtual-kubelet/errdefs";
import { kubernetesVersion } from "@virtual-kubelet/core";
import { clientCertificatePath } from "@virtual-kubelet/kubelet-api";
import type { Identity as ClientIdentity } from "@virtual-kubelet/kube-client";
import { X509Certificate } from "node:crypto";
import type { CommandLine } from "../../command-line/flag-parser.ts";
import type { LoadedSettings } from "../../config/load-settings.ts";
import { joinedNode } from "../../join/joined-node.ts";
import { certDirectoryOf } from "../../kubelet-server/cert-directory.ts";
import { serviceAccountName } from "../../manifests/access-rights.ts";
import { ConfigError } from "../../program-error.ts";
import type { ProgramCheck } from "../check.ts";
import { explainConnectFailure } from "../connect-failure.ts";
import { SkippedError } from "../fact.ts";
import { fail, pass, skip, warn, type Judgement } from "../finding.ts";
import { identityProblem, type Identity } from "../identity.ts";
import type { NamedObject } from "../objects-of-pods.ts";
import { answerProblem, isRefusal, releaseIn, skewOf, type ServerAnswer } from "../server-answer.ts";
import { kubectlCommand, ownCommand, shellWord } from "../shell-words.ts";
import { refusals } from "./configuration.ts";

/** Time before its expiry at which a credential is warned about, in milliseconds. */
const expiryWarningMs = 7 * 24 * 3_600_000;

/** Whether there is a usable kubeconfig or service account. */
export const kubeconfigCheck: ProgramCheck = {
  name: "cluster.kubeconfig",
  async run({ connection, context, line, loaded }) {
    try {
      const { server } = await connection.own();
      const { merged, settings } = await loaded.needed();
      const source = merged.sourceOf(["cluster", "kubeconfig"]);
      const from =
        settings.cluster.kubeconfig === undefined
          ? ""
          : ` by ${source.kind === "flag" ? "--" : ""}${"name" in source ? source.name : "the configuration file"}`;
      return [pass(`API server ${server}${from}`)];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const settings = await loaded.needed();
      const files = settings.settings.nodes.map(({ name }) => clientCertificatePath(certDirectoryOf(name, settings, context).directory));
      const message = messageOf(error);
      if (files.some((file) => message.includes(file))) return refusals(error, ...joinAgain(line, ["--force"]));
      return refusals(error, ...repairOfKubeconfig(message, settings));
    }
  },
};

/** Commands that get new credentials of a node that has joined its cluster. @param words - further flags */
function joinAgain(line: CommandLine, words: readonly string[] = []): string[] {
  const discovery = "HOST:PORT --token TOKEN --discovery-token-ca-cert-hash HASH";
  return [
    "kubeadm token create --print-join-command   # on the control plane; it prints HOST:PORT, TOKEN and HASH",
    ownCommand(line, "join", [discovery, ...words]),
  ];
}

function repairOfKubeconfig(message: string, loaded: LoadedSettings): string[] {
  if (/there is no file|no cluster to talk to|none of .* exists/.test(message))
    return ["ls -l ~/.kube/config", "# name an existing kubeconfig with --kubeconfig FILE or KUBECONFIG"];
  if (/context/.test(message)) {
    const settings = { ...loaded.settings, cluster: { ...loaded.settings.cluster, context: undefined } };
    return [kubectlCommand("config get-contexts", { ...loaded, settings }), "# name one of them with --context"];
  }
  return [kubectlCommand("config view", loaded), "# correct the kubeconfig as the message says"];
}

/** Whether client certificate or token can be read, and are valid now. */
export const credentialsCheck: ProgramCheck = {
  name: "cluster.credentials",
  async run({ clientIdentity, connection, context, line, loaded, times }, signal) {
    const { certificateFile } = (await connection.needed()).credentials;
    const settings = await loaded.needed();
    let identity: ClientIdentity;
    try {
      identity = await clientIdentity.own();
    } catch (error) {
      signal.throwIfAborted();
      return [fail(messageOf(error).replaceAll("\n", " "), "# correct the user of the kubeconfig, or sign in again")];
    }
    const [nowMs] = await times();
    const nodeNames = settings.settings.nodes.map(({ name }) => name);
    const joined = await joinedNode({ nodeNames, loaded: settings, context, certificateFile });
    const renewal = joined ? joinAgain(line) : [issueCertificate];
    return [
      judgeCredentials(identity, { nodeName: nodeNames[0] ?? "", nowMs, renewal, kubectl: (words) => kubectlCommand(words, settings) }),
    ];
  },
};

const issueCertificate =
  "# issue a new client certificate with the tool that made it, or get one that the program renews with virtual-kubelet join; see the guide Access rights and certificates";

interface CredentialsSituation {
  /** First node of the program. */
  readonly nodeName: string;
  readonly nowMs: number;
  /** Commands that renew a client certificate. */
  readonly renewal?: readonly string[];
  /** A `kubectl` command with the program's kubeconfig. */
  readonly kubectl?: (words: string) => string;
}

/** Judges whether the credentials are valid now. */
export function judgeCredentials(
  identity: ClientIdentity,
  { nodeName, nowMs, renewal = [issueCertificate], kubectl = plainKubectl }: CredentialsSituation,
): Judgement {
  const { certificate } = identity.tls;
  const token = identity.authorization?.replace(/^Bearer /, "");
  if (certificate !== undefined) {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    if (nowMs < validFromDate.getTime())
      return fail(
        `the client certificate is valid only from ${validFromDate.toISOString()}: is this machine's clock right?`,
        "date -u",
        setClock,
      );
    return judgeExpiry("the client certificate", validToDate.getTime(), nowMs, renewal);
  }
  if (token !== undefined) {
    const { expiresMs, account } = claimsOf(token);
    if (expiresMs === undefined) return pass("a token without an expiry that can be read");
    return judgeExpiry("the token", expiresMs, nowMs, renewalOfToken(account, nodeName), 0);
  }
  return warn(
    "neither a client certificate nor a token: the API server will see system:anonymous",
    kubectl("config view --minify"),
    "# give the context's user a certificate or a token",
  );
}

function plainKubectl(words: string): string {
  return `kubectl ${words}`;
}

/** @param account - service account of the token; `undefined` if it is another user's */
function renewalOfToken(account: NamedObject | undefined, nodeName: string): string[] {
  const own = serviceAccountName(nodeName);
  if (account === undefined) return [`# sign in again, or use a service account: kubectl create token ${own} -n kube-system`];
  return [`kubectl create token ${account.name} -n ${account.namespace} --duration=24h   # into the kubeconfig`];
}

function judgeExpiry(
  what: string,
  expiresMs: number,
  nowMs: number,
  repair: readonly string[],
  warningMs: number = expiryWarningMs,
): Judgement {
  const at = new Date(expiresMs).toISOString();
  if (nowMs >= expiresMs) return fail(`${what} has expired on ${at}`, ...repair);
  if (expiresMs - nowMs < warningMs) return warn(`${what} expires on ${at}`, ...repair);
  return pass(`${what} is valid until ${at}`);
}

/** What a JSON Web Token says. */
interface Claims {
  /** Expiry in milliseconds since the epoch. */
  readonly expiresMs?: number | undefined;
  /** Service account, if it is the token of one. */
  readonly account?: NamedObject | undefined;
}

/** What a JSON Web Token says; nothing for other tokens. The signature is the API server's business. */
function claimsOf(token: string): Claims {
  const [, payload] = token.split(".");
  if (payload === undefined) return {};
  try {
    const { exp, sub } = Object(JSON.parse(Buffer.from(payload, "base64url").toString())) as {
      readonly exp?: unknown;
      readonly sub?: unknown;
    };
    const [, namespace, name] = /^system:serviceaccount:([a-z0-9-]+):([a-z0-9.-]+)$/.exec(String(sub)) ?? [];
    return { expiresMs: typeof exp === "number" ? exp * 1000 : undefined, account: name === undefined ? undefined : { namespace, name } };
  } catch {
    return {};
  }
}

/** Whether an API server answers. */
export const reachableCheck: ProgramCheck = {
  name: "cluster.reachable",
  async run({ server, connection, loaded }, signal) {
    const { server: url } = await connection.needed();
    const settings = await loaded.needed();
    const kubectl = (words: string): string => kubectlCommand(words, settings);
    try {
      return [judgeAnswer(await server.own(), url, kubectl)];
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SkippedError) throw error;
      return [explainConnectFailure(error, url, kubectl)];
    }
  },
};

/** Judges who answers. A refusal of the credentials is not judged here, because only an API server refuses them. */
export function judgeAnswer(answer: ServerAnswer, url: string, kubectl: (words: string) => string = plainKubectl): Judgement {
  const { status, sentMs, receivedMs } = answer;
  switch (answerProblem(answer)?.kind) {
    case "unavailable":
      return fail(`${url} answers ${status}: it is starting, or cannot reach its etcd`, `curl -k ${shellWord(`${url}/readyz?verbose`)}`);
    case "stranger":
      return fail(
        `what answers at ${url} is not a Kubernetes API server: it answered ${status}`,
        kubectl("config view --minify"),
        "# correct the server in the kubeconfig",
      );
    case undefined:
      if (isRefusal(answer)) return pass(`${url} answers, but refuses the request: see cluster.identity`);
      return pass(`${url} answers within ${receivedMs - sentMs} ms`);
  }
}

/** Whether the program and the API server fit together. */
export const versionCheck: ProgramCheck = {
  name: "cluster.version",
  async run({ api }) {
    const answer = await api.needed();
    if (isRefusal(answer)) return [skip("needs cluster.identity")];
    const release = releaseIn(answer.text);
    return [release === undefined ? warn("the API server does not tell its version", "kubectl version") : judgeVersion(release)];
  },
};

/** Oldest minor release of Kubernetes that the project's tests run on; the newest is that of the API types. */
const oldestTestedMinor = 34;

/** Number of minor releases that a kubelet and an API server may be apart. Source: kubernetes.io, version skew policy. */
const maxSkew = 3;

/** @param release - such as `v1.36.3` */
export function judgeVersion(release: string): Judgement {
  const minor = minorOf(release);
  const newest = minorOf(kubernetesVersion);
  const tested = `this program is tested with 1.${oldestTestedMinor} to 1.${newest}`;
  if (minor < oldestTestedMinor - maxSkew)
    return fail(`Kubernetes ${release} is too old: ${tested}`, "# upgrade the cluster, or use an older virtual-kubelet");
  if (minor > newest + maxSkew) return fail(`Kubernetes ${release} is too new: ${tested}`, "npm install --global virtual-kubelet@latest");
  if (minor < oldestTestedMinor) return warn(`Kubernetes ${release}: ${tested}`, "# upgrade the cluster");
  if (minor > newest) return warn(`Kubernetes ${release}: ${tested}`, "npm install --global virtual-kubelet@latest");
  return pass(`Kubernetes ${release}`);
}

function minorOf(release: string): number {
  return Number(/^v1\.(\d+)/.exec(release)?.[1] ?? NaN);
}

/** Command that lets a machine follow a time server. */
const setClock = "sudo timedatectl set-ntp true   # on the machine whose clock is wrong";

/** Whether this machine and the API server agree about the time. */
export const clockCheck: ProgramCheck = {
  name: "cluster.clock",
  run: async ({ api }) => [judgeClock(await api.needed())],
};

/** Skew that is reported, in milliseconds; the header has whole seconds. */
const clockWarningMs = 5_000;

/** Skew at which tokens and certificates fail. Source: kubernetes v1.36 pkg/serviceaccount, which tolerates a minute. */
const clockFailureMs = 60_000;

/** Compares the answer's `Date` with this machine's clock at the middle of the request. */
export function judgeClock({ date, sentMs, receivedMs }: Pick<ServerAnswer, "date" | "sentMs" | "receivedMs">): Judgement {
  const skewMs = skewOf({ date, sentMs, receivedMs });
  if (skewMs === undefined) return warn("the API server does not tell the time", "date -u");
  const slackMs = 500 + (receivedMs - sentMs) / 2;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const message = `this machine's clock is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the API server's`;
  const certainMs = Math.abs(skewMs) - slackMs;
  if (certainMs > clockFailureMs)
    return fail(`${message}: tokens and certificates are refused as not valid yet or expired`, "date -u", setClock);
  if (certainMs > clockWarningMs) return warn(message, "date -u", setClock);
  return pass("this machine's clock and the API server's agree");
}

/** Who the API server takes the program for. */
export const identityCheck: ProgramCheck = {
  name: "cluster.identity",
  async run({ identity, loaded }) {
    const settings = await loaded.needed();
    const { nodes } = settings.settings;
    const kubectl = (words: string): string => kubectlCommand(words, settings);
    try {
      return [
        judgeIdentity(
          await identity.own(),
          nodes.map(({ name }) => name),
          kubectl,
        ),
      ];
    } catch (error) {
      if (error instanceof SkippedError || !isUnauthorized(error)) throw error;
      return [
        fail(
          "the API server refuses the credentials: certificate or token is expired, revoked, or of another cluster",
          kubectl("config view --minify"),
          kubectl("auth whoami"),
          "# renew the credentials of the kubeconfig; cluster.credentials says until when they are valid",
        ),
      ];
    }
  },
};

/** @param nodeNames - nodes that the program is to run */
export function judgeIdentity(
  identity: Identity,
  nodeNames: readonly string[],
  kubectl: (words: string) => string = plainKubectl,
): Judgement {
  const problem = identityProblem(identity, nodeNames, kubectl);
  if (problem) return fail(problem.message, ...problem.repair);
  return pass(identity.username);
}
