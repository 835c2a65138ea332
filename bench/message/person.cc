// How long does Google's C++ take for the Person of person.lua? As the article has it (a new stringstream for each message,
// then one stream for all), with strings, at its best (reused messages, arrays), and with a schema loaded at run time, new messages
// and reused ones. CPU nanoseconds; lines as those of person.lua.

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "snapshot.pb.h"

static volatile long sum;

static void measure(const char* name, int count, const std::function<void(int)>& run) {
  for (int round = 0; round < 6; round++) {
    std::clock_t start = std::clock();
    run(count);
    double each = double(std::clock() - start) / CLOCKS_PER_SEC / count * 1e9;
    if (round > 0) std::printf("%s\t%.1f\t0\n", name, each);
  }
}

int main() {
  measure("C++, a new stringstream for each", 20000, [](int count) {
    for (int i = 0; i < count; i++) {
      std::stringstream stream;
      bench::Person person, other;
      person.set_name("Alice");
      person.set_id(123);
      person.SerializeToOstream(&stream);
      other.ParseFromIstream(&stream);
      sum = sum + other.id();
    }
  });
  measure("C++, one stringstream", 20000, [](int count) {
    std::stringstream stream;
    for (int i = 0; i < count; i++) {
      bench::Person person, other;
      person.set_name("Alice");
      person.set_id(123);
      stream.clear();
      stream.str("");
      person.SerializeToOstream(&stream);
      other.ParseFromIstream(&stream);
      sum = sum + other.id();
    }
  });
  measure("C++, strings", 50000, [](int count) {
    for (int i = 0; i < count; i++) {
      bench::Person person, other;
      std::string bytes;
      person.set_name("Alice");
      person.set_id(123);
      person.SerializeToString(&bytes);
      other.ParseFromString(bytes);
      sum = sum + other.id();
    }
  });
  measure("C++, reused messages, arrays", 50000, [](int count) {
    bench::Person person, other;
    char bytes[64];
    for (int i = 0; i < count; i++) {
      person.set_name("Alice");
      person.set_id(123);
      int size = int(person.ByteSizeLong());
      person.SerializeToArray(bytes, sizeof bytes);
      other.ParseFromArray(bytes, size);
      sum = sum + other.id();
    }
  });
  google::protobuf::FileDescriptorProto file;
  bench::Person::descriptor()->file()->CopyTo(&file);
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* built = pool.BuildFile(file);
  const google::protobuf::Descriptor* type = built->FindMessageTypeByName("Person");
  google::protobuf::DynamicMessageFactory factory;
  const google::protobuf::Message* prototype = factory.GetPrototype(type);
  const google::protobuf::FieldDescriptor *name = type->FindFieldByName("name"), *id = type->FindFieldByName("id");
  measure("C++, schema at run time (DynamicMessage)", 20000, [&](int count) {
    for (int i = 0; i < count; i++) {
      std::unique_ptr<google::protobuf::Message> person(prototype->New()), other(prototype->New());
      std::string bytes;
      person->GetReflection()->SetString(person.get(), name, "Alice");
      person->GetReflection()->SetInt32(person.get(), id, 123);
      person->SerializeToString(&bytes);
      other->ParseFromString(bytes);
      sum = sum + other->GetReflection()->GetInt32(*other, id) + long(other->GetReflection()->GetString(*other, name).size());
    }
  });
  std::unique_ptr<google::protobuf::Message> person(prototype->New()), other(prototype->New());
  std::string bytes;
  measure("C++, schema at run time, reused messages", 20000, [&](int count) {
    for (int i = 0; i < count; i++) {
      person->GetReflection()->SetString(person.get(), name, "Alice");
      person->GetReflection()->SetInt32(person.get(), id, 123);
      person->SerializeToString(&bytes);
      other->ParseFromString(bytes);
      sum = sum + other->GetReflection()->GetInt32(*other, id) + long(other->GetReflection()->GetString(*other, name).size());
    }
  });
  return 0;
}
