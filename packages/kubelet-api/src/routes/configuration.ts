import { goDuration } from "@virtual-kubelet/core";
import { resolveStreamIdleMs, type StreamingLimits } from "@virtual-kubelet/streaming";
import { json } from "../server/answer.ts";
import { defaultCipherSuites, minTlsVersion, type TlsSettings } from "../server/tls-options.ts";
import type { Handler } from "./route.ts";

export interface ConfigurationOptions {
  /** A function, because the port is known only once the server listens. */
  readonly port: () => number;
  readonly streaming: StreamingLimits;
  readonly tls?: TlsSettings | undefined;
}

/** `/configz`: this server's effective settings as a `KubeletConfiguration`. */
export function configzRoute({ port, streaming, tls = {} }: ConfigurationOptions): Handler {
  return () =>
    json({
      kubeletconfig: {
        kind: "KubeletConfiguration",
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        enableServer: true,
        port: port(),
        readOnlyPort: 0,
        tlsMinVersion: minTlsVersion(tls),
        tlsCipherSuites: tls.cipherSuites ?? defaultCipherSuites,
        enableDebuggingHandlers: true,
        enableSystemLogHandler: false,
        enableSystemLogQuery: false,
        enableProfilingHandler: false,
        enableDebugFlagsHandler: false,
        streamingConnectionIdleTimeout: goDuration(resolveStreamIdleMs(streaming)),
      },
    });
}
