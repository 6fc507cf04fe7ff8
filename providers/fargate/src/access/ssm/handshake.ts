import { z } from "zod";

const request = z.object({
  AgentVersion: z.string().optional(),
  RequestedClientActions: z.array(z.object({ ActionType: z.string(), ActionParameters: z.unknown().optional() })).default([]),
});

/** Version that the client names; the agent behaves by it. Source: aws/session-manager-plugin src/version/version.go. */
export const clientVersion = "1.2.0.0";

const actionStatus = { success: 1, failed: 2, unsupported: 3 } as const;

/** Answer to the agent's handshake. */
export interface HandshakeAnswer {
  /** JSON of the response. */
  readonly response: string;
  /** Reason why the session cannot go on; the response says it, too. */
  readonly problem: string | undefined;
}

/**
 * Answers a handshake: the type of the session is accepted, encryption with a KMS key is refused.
 * Source: aws/session-manager-plugin src/datachannel/streaming.go (handleHandshakeRequest).
 */
export function answerHandshake(payload: Uint8Array): HandshakeAnswer {
  const parsed = request.safeParse(parseJson(Buffer.from(payload).toString("utf8")));
  if (!parsed.success) return toAnswer([], "the agent's handshake cannot be read");
  const actions = parsed.data.RequestedClientActions.map(({ ActionType }) => {
    if (ActionType === "SessionType") return { ActionType, ActionStatus: actionStatus.success, ActionResult: null, Error: "" };
    const isEncryption = ActionType === "KMSEncryption";
    return {
      ActionType,
      ActionStatus: isEncryption ? actionStatus.failed : actionStatus.unsupported,
      ActionResult: null,
      Error: isEncryption ? "encryption with a KMS key is not supported" : `unsupported action ${ActionType}`,
    };
  });
  const isEncrypted = actions.some(({ ActionType }) => ActionType === "KMSEncryption");
  return toAnswer(
    actions,
    isEncrypted
      ? "the ECS cluster encrypts sessions with a KMS key, which is not supported; remove kmsKeyId from its executeCommandConfiguration"
      : undefined,
  );
}

function toAnswer(ProcessedClientActions: readonly object[], problem: string | undefined): HandshakeAnswer {
  const response = JSON.stringify({ ClientVersion: clientVersion, ProcessedClientActions, Errors: problem === undefined ? [] : [problem] });
  return { response, problem };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
