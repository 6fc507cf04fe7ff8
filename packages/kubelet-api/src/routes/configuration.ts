import { json } from "../server/answer.ts";
import type { Handler } from "./route.ts";

/**
 * `/configz`: what is true of this server, as a `KubeletConfiguration`.
 *
 * @param port - asked at each request: it is known once the server listens
 */
export function configzRoute(port: () => number): Handler {
  return () =>
    json({
      kubeletconfig: {
        kind: "KubeletConfiguration",
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        enableServer: true,
        port: port(),
        readOnlyPort: 0,
        enableDebuggingHandlers: true,
        enableSystemLogHandler: false,
        enableSystemLogQuery: false,
        enableProfilingHandler: false,
        enableDebugFlagsHandler: false,
        streamingConnectionIdleTimeout: "4h0m0s",
      },
    });
}
