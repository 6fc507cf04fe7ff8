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

/** A duration as Go writes it: `4h0m0s`, `1m30s`, `1.5s`, `20ms`. */
export function goDuration(ms: number): string {
  if (ms < 1_000) return ms === 0 ? "0s" : `${ms}ms`;
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, (ms % 60_000) / 1_000];
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}
