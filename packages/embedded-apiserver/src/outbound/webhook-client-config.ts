/** How a webhook is reached: `clientConfig` of webhook configurations and of custom resource definitions. */
export interface WebhookClientConfig {
  readonly url?: string;
  readonly service?: { readonly namespace: string; readonly name: string; readonly path?: string; readonly port?: number };
  /** Base64 of PEM. */
  readonly caBundle?: string;
}
