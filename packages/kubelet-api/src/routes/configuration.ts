import { goDuration } from "@virtual-kubelet/core";
import { resolveStreamIdleMs, type StreamingLimits } from "@virtual-kubelet/streaming";
import { json } from "../server/answer.ts";
import { defaultCipherSuites, minTlsVersion, type TlsSettings } from "../server/tls-options.ts";
import type { Handler } from "./route.ts";

/** What {@link configzRoute} tells of. */
export interface ConfigurationOptions {
  /** Asked at each request: it is known once the server listens. */
  readonly port: () => number;
  readonly streaming: StreamingLimits;
  readonly tls?: TlsSettings | undefined;
}

/** `/configz`: what is true of this server, as a `KubeletConfiguration`. */
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
