/** An image at the runtime, as the garbage collector sees it. */
export interface CollectedImage {
  /** Id for {@link ImageCollection.removeImage}. */
  readonly id: string;
  /** All its names; empty if it has lost them. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** Whether any container uses it, running or not, of this node or not. */
  readonly isInUse: boolean;
}

/** Size of the file system that holds the images, in bytes. */
export interface ImageFileSystem {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

/** Images that the garbage collector may remove. */
export interface ImageCollection {
  /** Lists all images. Fails as a whole, and never returns a part. */
  listImages(signal: AbortSignal): Promise<readonly CollectedImage[]>;
  /** Removes an image with all its names. Idempotent. @throws ConflictError while it is in use */
  removeImage(id: string, signal: AbortSignal): Promise<void>;
  /** Usage of the file system that holds the images. */
  imageFileSystem(signal: AbortSignal): Promise<ImageFileSystem>;
}
