// The parts inside kafkajs that ask Kafka what its public parts cannot ask. Its version is pinned exactly.

declare module 'kafkajs/src/cluster/index.js' {
  import type { KafkaConfig, KafkaMessage, Logger } from 'kafkajs';

  /** A request: `encode` gives its body, `decode` reads the body of the answer. */
  interface ProtocolCall<T> {
    request: { apiKey: number; apiVersion: number; apiName: string; encode(): Promise<unknown> };
    response: { decode(body: Buffer): Promise<T>; parse(decoded: T): Promise<T> };
    logResponseError?: boolean;
  }

  interface Broker {
    connectionPool: { send<T>(call: ProtocolCall<T>): Promise<T> };
    /** By the number of a request. */
    versions: Record<number, { minVersion: number; maxVersion: number }>;
    /** Rejects with Kafka's error about a partition. */
    fetch(request: {
      maxWaitTime: number;
      topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
    }): Promise<{ responses: { partitions: FetchedPartition[] }[] }>;
  }

  interface FetchedPartition {
    partition: number;
    messages: KafkaMessage[];
  }

  export default class Cluster {
    constructor(
      options: KafkaConfig & {
        logger: Logger;
        allowAutoTopicCreation: false;
        maxInFlightRequests: null;
        metadataMaxAge: number;
      },
    );
    /** Its seed broker is connected and authenticated after `connect`. */
    brokerPool: { seedBroker: Broker };
    connect(): Promise<void>;
    disconnect(): Promise<void>;
    /** Reads the metadata of the topic, which the two calls below need. */
    addTargetTopic(topic: string): Promise<void>;
    /** Node of a broker → those of the partitions that it leads. */
    findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
    findBroker(node: { nodeId: string }): Promise<Broker>;
  }
}

declare module 'kafkajs/src/consumer/batch.js' {
  import type { KafkaMessage } from 'kafkajs';
  import type { FetchedPartition } from 'kafkajs/src/cluster/index.js';

  /** What a fetch has returned for a partition. */
  export default class Batch {
    constructor(topic: string, fetched_offset: string, partition: FetchedPartition);
    /** Everything that was returned, also records before the offset, of transactions, and of aborted ones. */
    rawMessages: KafkaMessage[];
    /** The records that a reader gets. */
    messages: KafkaMessage[];
    /** Of `rawMessages`; meaningless when there are none. */
    lastOffset(): string;
  }
}

declare module 'kafkajs/src/protocol/encoder.js' {
  /** Writes the body of a request; `compact` types of the protocol are those with UVarInt. */
  export default class Encoder {
    writeInt32(value: number): this;
    writeBoolean(value: boolean): this;
    writeUVarInt(value: number): this;
    writeUVarIntString(value: string | null): this;
    writeUVarIntArray(values: readonly Encoder[]): this;
  }
}

declare module 'kafkajs/src/protocol/decoder.js' {
  /** Reads the body of an answer; `compact` types of the protocol are those with UVarInt. */
  export default class Decoder {
    constructor(body: Buffer);
    readInt16(): number;
    readInt32(): number;
    readBoolean(): boolean;
    readBytes(length: number): Buffer;
    readUVarIntString(): string | null;
    readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null;
    readTaggedFields(): unknown;
  }
}

declare module 'kafkajs/src/protocol/error.js' {
  const errors: {
    failure(code: number): boolean;
    /** An error with Kafka's name of the code as its `type`. */
    createErrorFromCode(code: number): Error;
  };
  export default errors;
}

declare module 'kafkajs/src/loggers/index.js' {
  import type { KafkaConfig, Logger } from 'kafkajs';

  const loggers: { createLogger(options: Pick<KafkaConfig, 'logCreator'> & { level: number }): Logger };
  export default loggers;
}

declare module 'kafkajs/src/network/socketFactory.js' {
  import type { ISocketFactory } from 'kafkajs';

  export default function socketFactory(): ISocketFactory;
}
