/** Name and password, or a token, for a registry. It is a secret. */
export type RegistryCredentials =
  | { readonly username: string; readonly password: string }
  | { readonly identityToken: string }
  | { readonly registryToken: string };
