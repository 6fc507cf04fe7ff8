import { findControlPlane } from "@virtual-kubelet/testing";
import { tmpdir } from "node:os";
import { onPath } from "../../packages/testing/src/control-plane/find-control-plane.ts";
import { problemOf } from "../network-namespace.ts";
import { asRoot, sudoHint } from "../superuser.ts";

/** Why there is no control plane, if there is none. */
export function missingControlPlane(): string | undefined {
  const lookup = findControlPlane();
  return lookup.status === "missing" ? lookup.how : undefined;
}

/** Why there is no kube-proxy, if there is none. */
export function missingKubeProxy(): string | undefined {
  if (process.env["KUBE_PROXY"]) return undefined;
  const lookup = findControlPlane({ programs: ["kube-proxy"] });
  return lookup.status === "missing" ? `${lookup.how}; or name kube-proxy in KUBE_PROXY` : undefined;
}

/** Why there is no kubectl, if there is none. */
export function missingKubectl(): string | undefined {
  const lookup = findControlPlane({ programs: ["kubectl"] });
  const own = process.env["KUBECTL"] || onPath("kubectl", process.env["PATH"] ?? "");
  return own || lookup.status !== "missing" ? undefined : `${lookup.how}; or put kubectl on the PATH, or name it in KUBECTL`;
}

/** Why nothing can be mounted here, if so. */
export function missingRoot(): string | undefined {
  const command = asRoot(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", tmpdir()]);
  if (command === undefined) return `files have owners and folders are mounted, which takes root, or ${sudoHint}`;
  const why = problemOf(command);
  return why === undefined ? undefined : `nothing can be mounted here (${why}), which takes root with CAP_SYS_ADMIN`;
}
