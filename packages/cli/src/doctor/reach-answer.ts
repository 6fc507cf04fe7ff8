import { fail, pass, type Judgement } from "./finding.ts";
import { shellWord } from "./shell-words.ts";

/** Answer to a request that the API server passes on to a node. */
export type ReachAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly text: string }
  | { readonly kind: "timeout" }
  /** The API server itself does not answer. */
  | { readonly kind: "failed"; readonly why: string };

/** What the explanations mention. */
export interface ReachOptions {
  /** Name of the node. */
  readonly name: string;
  readonly port: number;
  /** Command that starts the program with another address. */
  readonly setAddress: string;
}

/** What kube-apiserver, or the node, says, and what that means. The first that fits counts. */
const explanations: readonly (readonly [says: RegExp, explain: (said: string, options: ReachOptions) => Judgement])[] = [
  [/no preferred addresses found/, (said, { setAddress }) => fail(`the node has no address that the API server uses: ${said}`, setAddress)],
  [
    /connection refused|ECONNREFUSED/i,
    (said, options) =>
      fail(
        `nothing listens where the API server looks for the node: ${said}`,
        showAddress(options),
        `ss -ltnp 'sport = :${options.port}'`,
        "# start the program, or correct --node-ip and --kubelet-port",
      ),
  ],
  [
    /certificate is valid for|doesn't contain any IP SANs|certificate is not valid/,
    (said) =>
      fail(
        `the API server refuses the node's certificate, which lacks the node's address: ${said}`,
        "# see certificate.serving and certificate.request",
      ),
  ],
  [
    /x509|unable to verify/i,
    (said) =>
      fail(
        `the API server verifies the node's certificate, and does not trust it: ${said}`,
        "# approve the request that certificate.request names, or name a certificate of the cluster's kubelet authority with --tls-cert-file",
      ),
  ],
  [
    /no route to host|network is unreachable|i\/o timeout|context deadline exceeded|EHOSTUNREACH|ETIMEDOUT|Client\.Timeout/i,
    (said, options) =>
      fail(
        `the API server's packets do not reach the node's address: ${said}`,
        showAddress(options),
        `# open port ${options.port} for the control plane in firewalls and network policies, or set the right address`,
        options.setAddress,
      ),
  ],
  [
    /Forbidden \(user=/,
    (said) => {
      const user = /Forbidden \(user=([^,]+),/.exec(said)?.[1] ?? "";
      return fail(
        `the node refuses the API server's own user ${user}: ${said}`,
        `kubectl create clusterrolebinding kube-apiserver-kubelet --clusterrole=system:kubelet-api-admin --user=${shellWord(user)}`,
      );
    },
  ],
  [
    /Authorization error/,
    (said) => fail(`the node could not ask the API server what the caller may do: ${said}`, "# see permissions.subjectaccessreviews"),
  ],
  [
    /Unauthorized|asked for the client to provide credentials/,
    () =>
      fail(
        "the node does not know the authority of the API server's client certificate (Unauthorized)",
        "kubectl get configmap extension-apiserver-authentication -n kube-system -o yaml",
        "# it must contain client-ca-file; else name the authority with --client-ca-file; see permissions.configmaps",
      ),
  ],
  [
    /tls: /,
    (said) =>
      fail(
        `the TLS handshake between API server and node fails: ${said}`,
        "# see certificate.serving, --tls-min-version and --tls-cipher-suites",
      ),
  ],
];

/**
 * Judges the answer to a request that the API server passes on to a node.
 *
 * @returns `undefined` if the API server refuses to pass such a request on to the node's address
 */
export function judgeReach(answer: ReachAnswer, options: ReachOptions): Judgement | undefined {
  if (answer.kind === "failed") return fail(`the API server does not answer: ${answer.why}`, "# see cluster.reachable");
  const { status, text } = answer.kind === "timeout" ? { status: 504, text: "i/o timeout" } : answer;
  if (status >= 200 && status < 300) return pass("the API server reaches the kubelet's API, and is accepted there");
  const said = messageIn(text);
  if (/address not allowed/.test(said)) return undefined;
  const explain = explanations.find(([says]) => says.test(said))?.[1];
  return explain?.(said, options) ?? fail(`the API server answers ${status}: ${said}`, showAddress(options));
}

function showAddress({ name }: ReachOptions): string {
  return `kubectl get node ${name} -o wide`;
}

/** Maximum length of an answer in a finding, in characters. */
const maxShownLength = 400;

/** Message of a Status, or the text, on one line. */
function messageIn(text: string): string {
  return (statusMessage(text) ?? text).trim().replaceAll(/\s+/g, " ").slice(0, maxShownLength);
}

/** The node's own answers are plain text. */
function statusMessage(text: string): string | undefined {
  try {
    const { kind, message } = Object(JSON.parse(text)) as { readonly kind?: unknown; readonly message?: unknown };
    return kind === "Status" && typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}
