// Runs the processors `filter/unused` and `transform/unused` of a Collector's configuration, in this order, over a
// request in OTLP/JSON.
//
//	processors config.yaml <request.json >result.json
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/filterprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/xconfmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(path string) error {
	ctx := context.Background()
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              []string{"file:" + path},
		ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		DefaultScheme:     "env",
	})
	if err != nil {
		return err
	}
	configuration, err := resolver.Resolve(ctx)
	if err != nil {
		return err
	}
	processors, err := configuration.Sub("processors")
	if err != nil {
		return err
	}
	request, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	unmarshaler := pmetric.JSONUnmarshaler{}
	metrics, err := unmarshaler.UnmarshalMetrics(request)
	if err != nil {
		return err
	}
	for _, factory := range []processor.Factory{filterprocessor.NewFactory(), transformprocessor.NewFactory()} {
		name := factory.Type().String() + "/unused"
		if !processors.IsSet(name) {
			return fmt.Errorf("no processor %s", name)
		}
		own, err := processors.Sub(name)
		if err != nil {
			return err
		}
		if metrics, err = process(ctx, factory, own, metrics); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	marshaler := pmetric.JSONMarshaler{}
	result, err := marshaler.MarshalMetrics(metrics)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", result)
	return err
}

// process runs a processor of the Collector with its own configuration.
func process(
	ctx context.Context, factory processor.Factory, own *confmap.Conf, metrics pmetric.Metrics,
) (pmetric.Metrics, error) {
	config := factory.CreateDefaultConfig()
	if err := own.Unmarshal(config); err != nil {
		return metrics, err
	}
	if err := xconfmap.Validate(config); err != nil {
		return metrics, err
	}
	sink := new(consumertest.MetricsSink)
	created, err := factory.CreateMetrics(ctx, processortest.NewNopSettings(factory.Type()), component.Config(config), sink)
	if err != nil {
		return metrics, err
	}
	if err := created.Start(ctx, componenttest.NewNopHost()); err != nil {
		return metrics, err
	}
	if err := created.ConsumeMetrics(ctx, metrics); err != nil {
		return metrics, err
	}
	if err := created.Shutdown(ctx); err != nil {
		return metrics, err
	}
	if all := sink.AllMetrics(); len(all) > 0 {
		return all[0], nil
	}
	return pmetric.NewMetrics(), nil
}
