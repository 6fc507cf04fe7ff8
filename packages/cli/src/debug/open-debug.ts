import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { Refusal } from "@virtual-kubelet/kubelet-api";
import type { LoadedSettings } from "../config/load-settings.ts";
import { parseHostPort } from "../config/addresses.ts";
import type { Context } from "../context.ts";
import { startSmallServer } from "../http/small-server.ts";
import { certDirectoryOf } from "../kubelet-server/cert-directory.ts";
import { ConfigError } from "../program-error.ts";
import { foreignRequest } from "./same-site.ts";
import { loadStatusPage } from "./status-page.ts";
import { answerStatus } from "./status-routes.ts";
import type { StatusSource } from "./status-document.ts";
import { openStatusSocket } from "./status-socket.ts";

export interface DebugOptions {
  readonly source: StatusSource;
  /** Names of the nodes in whose folders the sockets are. */
  readonly nodeNames: readonly string[];
  readonly loaded: LoadedSettings;
  readonly context: Context;
  readonly logger: Logger;
}

/**
 * Serves the program's state: on a Unix socket of each entry for nodes, and on a page if the settings have an address for it. A socket that cannot be
 * created is a warning, because the nodes run without it.
 *
 * @throws ConfigError if the page's address cannot be bound
 */
export async function openDebug(options: DebugOptions): Promise<AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  opened.use(await openPage(options));
  const { source, nodeNames, loaded, context, logger } = options;
  for (const name of nodeNames) {
    const { directory } = certDirectoryOf(name, loaded, context);
    try {
      opened.use(
        await openStatusSocket({
          nodeName: name,
          directory,
          answer: (request) => answerStatus(source, request),
          now: () => context.clock.now(),
        }),
      );
    } catch (error) {
      logger.warn(
        { node: name, directory, err: messageOf(error) },
        `"virtual-kubelet status" cannot show the node: no socket can be created there`,
      );
    }
  }
  return opened.move();
}

async function openPage({ source, loaded, logger }: DebugOptions): Promise<AsyncDisposable | undefined> {
  const { address } = loaded.settings.debug;
  const hostPort = parseHostPort(address);
  if (address === "off" || !hostPort) return undefined;
  const page = await loadStatusPage();
  try {
    const server = await startSmallServer(hostPort, (request) => {
      const problem = foreignRequest(request.headers);
      if (problem !== undefined) throw new Refusal(403, `403: Forbidden: ${problem}`);
      return request.path === "/" ? page : answerStatus(source, request);
    });
    logger.info({ address: hostPort.host, port: server.port }, "serving a page with the program's state");
    return server;
  } catch (error) {
    const name = loaded.nameOf(["debug", "address"]);
    throw new ConfigError(`${name}: ${JSON.stringify(address)}: cannot listen there: ${messageOf(error)}`, { cause: error });
  }
}
