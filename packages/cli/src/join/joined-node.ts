import { clientCertificatePath } from "@virtual-kubelet/kubelet-api";
import { realpath } from "node:fs/promises";
import type { LoadedSettings } from "../config/load-settings.ts";
import type { Context } from "../context.ts";
import { certDirectoryOf } from "../kubelet-server/cert-directory.ts";

/** Options of {@link joinedNode}. */
export interface JoinedNodeOptions {
  readonly nodeNames: readonly string[];
  readonly loaded: LoadedSettings;
  readonly context: Context;
  /** File of the client certificate that a connection uses; `undefined` if it uses none, or none from a file. */
  readonly certificateFile: string | undefined;
}

/** A node that has joined its cluster. */
export interface JoinedNode {
  readonly nodeName: string;
  /** Folder of its certificates. */
  readonly directory: string;
}

/** The node whose certificate from `join` a connection uses; `undefined` for every other certificate. */
export async function joinedNode({ nodeNames, loaded, context, certificateFile }: JoinedNodeOptions): Promise<JoinedNode | undefined> {
  if (certificateFile === undefined) return undefined;
  const used = await realPath(certificateFile);
  for (const nodeName of nodeNames) {
    const { directory } = certDirectoryOf(nodeName, loaded, context);
    if ((await realPath(clientCertificatePath(directory))) === used) return { nodeName, directory };
  }
  return undefined;
}

async function realPath(path: string): Promise<string> {
  return await realpath(path).catch(() => path);
}
