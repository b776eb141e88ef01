import type { ProtocolCall } from 'kafkajs/src/cluster/index.js';
import Decoder from 'kafkajs/src/protocol/decoder.js';
import Encoder from 'kafkajs/src/protocol/encoder.js';
import errors from 'kafkajs/src/protocol/error.js';

/** The number of the request in Kafka's protocol, and the first version whose answer has the ids of topics. */
export const METADATA = { apiKey: 3, apiVersion: 10 } as const;

/** Bytes of a UUID. */
const UUID_BYTES = 16;

/** The ids of a cluster and of one of its topics. */
export interface TopicIdentity {
  cluster_id: string | null;
  topic_id: string | undefined;
}

/**
 * Asks for the metadata of one topic, which is not created. The answer rejects with Kafka's error about the topic.
 * https://kafka.apache.org/protocol#The_Messages_Metadata describes both messages.
 */
export function topicMetadata(topic: string): ProtocolCall<TopicIdentity> {
  return {
    request: { ...METADATA, apiName: 'Metadata', encode: () => Promise.resolve(bodyOf(topic)) },
    response: {
      decode: (body) => Promise.resolve(identityIn(new Decoder(body), topic)),
      parse: (decoded) => Promise.resolve(decoded),
    },
    logResponseError: false,
  };
}

function bodyOf(topic: string): Encoder {
  const wanted = new Encoder();
  for (let bytes = 0; bytes < UUID_BYTES; bytes += 4) wanted.writeInt32(0);
  wanted.writeUVarIntString(topic).writeUVarInt(0);
  // The first 0: no tagged fields in the header. The flags: create the topic; list what the user may do.
  return new Encoder()
    .writeUVarInt(0)
    .writeUVarIntArray([wanted])
    .writeBoolean(false)
    .writeBoolean(false)
    .writeBoolean(false)
    .writeUVarInt(0);
}

function identityIn(body: Decoder, topic: string): TopicIdentity {
  body.readTaggedFields();
  // The time for which Kafka asks its clients to pause.
  body.readInt32();
  body.readUVarIntArray(skipBroker);
  const cluster_id = body.readUVarIntString();
  // The controller.
  body.readInt32();
  const topics = body.readUVarIntArray(readTopic) ?? [];
  const found = topics.find(({ name }) => name === topic);
  if (found !== undefined && errors.failure(found.error_code)) {
    throw errors.createErrorFromCode(found.error_code);
  }
  return { cluster_id, topic_id: found?.topic_id };
}

function skipBroker(body: Decoder): void {
  body.readInt32();
  body.readUVarIntString();
  body.readInt32();
  body.readUVarIntString();
  body.readTaggedFields();
}

function readTopic(body: Decoder) {
  const error_code = body.readInt16();
  const name = body.readUVarIntString();
  const topic_id = body
    .readBytes(UUID_BYTES)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  // Whether the topic is internal.
  body.readBoolean();
  body.readUVarIntArray(skipPartition);
  // What the user may do.
  body.readInt32();
  body.readTaggedFields();
  return { error_code, name, topic_id };
}

function skipPartition(body: Decoder): void {
  const readId = (of: Decoder) => of.readInt32();
  // Error code, number, leader and its epoch; then the nodes with replicas: all, in sync, offline.
  body.readInt16();
  for (let i = 0; i < 3; i++) body.readInt32();
  for (let i = 0; i < 3; i++) body.readUVarIntArray(readId);
  body.readTaggedFields();
}
